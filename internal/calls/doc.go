// Package calls links a run into the tree of its seam calls: each Call with its two
// crossings and its steps, and each Step with both its lines, the calls that it led to
// and the events and facts that belong to it.
package calls
