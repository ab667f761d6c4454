package wire

// ByReplay is who rejects a gate for which nothing was recorded.
const ByReplay = "replay"

// MadeByReplay begins an id that live code makes, and that is not in the recording; a number follows.
const MadeByReplay = "live-"

// These are words of every trace that was ever written: were the engine's to change, they
// would stay.
const (
	// EndedByExit is the cause of what a goroutine leaves behind that ends.
	EndedByExit = "user code ended its goroutine with runtime.Goexit"
	// OutsideCancel and those below are what cancels runs: who called Run, user code that
	// aborts, an abort error that a stage returned, and the end of a goroutine.
	OutsideCancel = "outside"
	CancelAbort   = "abort"
	CancelStage   = "stage"
	CancelGoexit  = "goexit"
)
