package wire

// ByReplay is who rejects a gate for which nothing is recorded.
const ByReplay = "replay"

// MadeByReplay is the prefix of an id that live code makes and that the recording does not have; a
// number follows.
const MadeByReplay = "live-"

// These words are in traces that were already written. If the engine changed its words, these would
// stay.
const (
	// EndedByExit is the cause of the failures that a goroutine leaves behind when it ends with
	// runtime.Goexit.
	EndedByExit = "user code ended its goroutine with runtime.Goexit"
	// OutsideCancel and the constants below are what can cancel a run: the caller of Run, user code
	// that aborts, an abort error that a stage returned, and the end of a goroutine.
	OutsideCancel = "outside"
	CancelAbort   = "abort"
	CancelStage   = "stage"
	CancelGoexit  = "goexit"
)
