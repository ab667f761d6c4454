// Package jsondiff walks two trees of JSON in parallel and reports where they differ. The caller's
// Rules define which values are the same, and which elements of lists are compared with each other.
package jsondiff
