package wire

// ByReplay is who rejects a gate for which nothing was recorded.
const ByReplay = "replay"

// EndedByExit is the cause of what a goroutine leaves behind that ends, in the words
// of every trace that was ever written: were the engine's to change, these would stay.
const (
	EndedByExit   = "user code ended its goroutine with runtime.Goexit"
	OutsideCancel = "outside"
	CancelStage   = "stage"
	CancelGoexit  = "goexit"
)
