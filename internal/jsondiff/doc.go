// Package jsondiff walks two trees of JSON side by side and tells where they differ.
// What counts as the same, and which element of a list is held against which, the
// caller's Rules say.
package jsondiff
