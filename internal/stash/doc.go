// Package stash implements the nested tree of a stash: plain data under dot-paths (STA). A dot-path
// is the names of nested maps joined by dots, as in user.name.
//
// [Tree.Set] and [Tree.Find] write and read one path, [Tree.Keys] lists the paths of all leaves,
// and [Check] refuses a tree with parts that no path could reach. Maps and slices are copied when
// they are set; callers that pass on a value from Find must copy it. Package adk adds the lock, the
// error codes and the digest.
package stash
