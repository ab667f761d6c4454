// Package tracetest is shared by the tests of traces: sample turns with all kinds of crossings,
// random crossings with a value in every field, the embedded traces, and every edit of those.
package tracetest
