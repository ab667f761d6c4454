// Package codeplace locates code, for reports that people read together with the code: the file
// from the root of its module, and the line.
package codeplace
