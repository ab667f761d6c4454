// Package files keeps the records of turns in a directory, for one process: to read them with
// an editor, to have no database at all.
//
//	dir, err := files.Open("agent", storage.Config{})
//	runner, err := adk.NewRunner(adk.Config{Storage: dir.Storage(), …})
//
// # What stands in a directory
//
// A record is a file tenant/session/collection/position-hash.json. The names of tenant and
// session are escaped, a line stands for an empty one; the hash is that of the key. The
// first line is the record's JSON, byte for byte, and the second one says its digest, who
// wrote it, and when.
//
// Bodies of artifacts, as package chat makes of each text that a tool gives, are no records. A
// record with one is refused until they have a place of their own:
//
//	spool, err := artifact.NewDirSpool("bodies")
//	config.Storage = artifact.Spooling(dir.Storage(), spool, artifact.SpoolingOptions{})
//
// # What a crash leaves
//
// A file is written beside the others, brought to the disk, and then given its name. Where
// several change at once, a list of what is to be done is brought to the disk first, and
// [Open] does what is left of it. So records are whole, and changes are made all or none.
//
// The directory belongs to whoever has opened it, until it is closed: another [Open], in the same
// process or in another one, is E_STORAGE_BUSY. See package storage for the config and for what all storages promise.
package files
