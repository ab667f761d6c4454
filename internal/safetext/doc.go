// Package safetext makes texts of others fit to print: nothing in them acts upon a
// terminal or begins a line of its own, long ones are cut where they differ, and long lines folded.
package safetext
