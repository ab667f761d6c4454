// Package realparts_test explores subjects that are made of real parts: a SQLite file,
// a server of net/http on loopback, goroutines and channels of their own. Each has a bug
// that is found, and a twin of which no false word is said. And it has four processes settle
// deliveries on one Postgres, while they are killed. It is a module of its own, since nobody
// else needs all of the databases.
package realparts_test
