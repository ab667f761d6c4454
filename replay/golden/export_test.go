package golden

import "github.com/adkreplay/adkreplay/replay"

// VerifyInBubble does what InBubble does inside of its bubble.
func VerifyInBubble(t TB, recorded []byte, live func() replay.Live) {
	verifyInBubble(t, recorded, live, nil)
}
