// Package calls links the crossings of a run into the tree of its seam calls. A Call has its two
// crossings and its steps. A Step has one or two crossings, the calls that it led to, and the
// events and facts that belong to it.
package calls
