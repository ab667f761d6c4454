// Package compare finds the fields in which two crossings, two views or two headers differ, down to
// the path within a record or plain data.
package compare
