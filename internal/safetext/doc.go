// Package safetext makes untrusted texts safe to print: nothing in them controls a terminal or
// begins a new line. It also cuts long texts around their differences, and folds long lines.
package safetext
