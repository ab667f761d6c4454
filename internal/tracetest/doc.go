// Package tracetest is what tests of traces share: turns that cross everywhere, drawn
// crossings with something in every field, the embedded traces, and every edit of them.
package tracetest
