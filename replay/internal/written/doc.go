// Package written finds the line of a program's source for a difference that no operation leads to:
// the words of a prompt, the list of a pipeline, the options of an executor that a library makes.
// It names a line only if exactly one can be meant.
package written
