// Package zoo holds agents with bugs of the kinds that the trackers of agent frameworks
// are full of, each beside its corrected twin, in tests: they hold package explore to
// finding the bugs and to leaving the twins alone, and print what it takes.
package zoo
