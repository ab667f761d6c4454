// Package written finds where the source of a program says what a replay found to be other
// than recorded and no operation leads to: the words of a prompt, the list of a pipeline, the
// options of an executor that a library makes. It names a line where one alone can be meant,
// and else none.
package written
