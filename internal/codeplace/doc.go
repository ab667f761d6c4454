// Package codeplace says where code stands, for reports that people read beside it: the
// file from the root of its module, and the line.
package codeplace
