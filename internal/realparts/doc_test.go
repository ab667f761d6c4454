// Package realparts_test explores subjects made of real parts: a SQLite file, a net/http server on
// loopback, goroutines and channels of their own. Each subject has a bug that is found, and a twin that is
// not accused. It also has four processes settle deliveries on one Postgres server while they are being
// killed. It is a module of its own, since nobody else needs all of
// these databases.
package realparts_test
