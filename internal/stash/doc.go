// Package stash is the nested tree behind a stash: plain data under dot-paths
// (STA). A dot-path is the names of nested maps joined by dots, as in user.name.
//
// [Tree.Set] and [Tree.Find] write and read one path, [Tree.Keys] lists the paths
// of all leaves, and [Check] refuses a tree that a path could not reach all of.
// Maps and slices are copied on their way in; who gives out what it finds copies it.
// Package adk has the lock, the codes of errors and the digest.
package stash
