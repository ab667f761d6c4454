// Package realparts_test explores subjects that are made of real parts: a SQLite file,
// a server of net/http on loopback, goroutines and channels of their own. Each has a bug
// that is found, and a twin of which no false word is said. It is a module of its own,
// since nobody else needs the database.
package realparts_test
