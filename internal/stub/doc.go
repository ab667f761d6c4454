// Package stub is the user code of a replay: middlewares, executors, tools, storages
// and listeners that do what their recorded counterparts did.
//
// A Stage makes them. What a call does next is asked of its Director, of which there is
// one for each way to run a recording again; the stage performs it through the handle
// that the engine handed to the call.
package stub
