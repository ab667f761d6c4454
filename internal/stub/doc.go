// Package stub is the scripted user code of a replay: middlewares, executors, tools, storages and
// listeners that do what their recorded counterparts did.
//
// A Stage makes them. It asks its Director what a call does next, and performs that through the
// handle that the engine gave to the call. There is one Director for each way to replay a
// recording.
package stub
