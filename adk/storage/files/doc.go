// Package files keeps the records of turns in a directory, for one process. The records can be read
// with an editor, and no database is needed.
//
//	dir, err := files.Open("agent", storage.Config{})
//	runner, err := adk.NewRunner(adk.Config{Storage: dir.Storage(), …})
//
// # What is in the directory
//
// A record is a file tenant/session/collection/position-hash.json. The names of tenant and session
// are escaped, an empty one is a dash; the hash is that of the key. The first line is the record's
// JSON, byte for byte. The second one has its digest, who wrote it, and when.
//
// Bodies of artifacts, which package chat makes of each text that a tool returns, are not records.
// A record with one is refused unless the bodies have a place of their own:
//
//	spool, err := artifact.NewDirSpool("bodies")
//	config.Storage = artifact.Spooling(dir.Storage(), spool, artifact.SpoolingOptions{})
//
// # What a crash leaves
//
// A file is written and synced under a temporary name, and then renamed. If several files change at
// once, a list of the steps is written and synced first, and [Open] does the remaining steps after
// a crash. So records are whole, and changes are made all or none.
//
// The directory belongs to the storage that has opened it, until it is closed: another [Open], in
// the same process or in another one, is E_STORAGE_BUSY. See package storage for the config, and
// for what all storages promise.
package files
