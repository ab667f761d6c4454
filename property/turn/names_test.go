package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/property/turn"
)

// An operation with an unknown name would do nothing, so it is refused, wherever it stands.
func TestNamesOfOperationsAreRefused(t *testing.T) {
	for scripts, want := range map[string]string{
		`[{"seam":"executor/model#0"},{"seam":"tool/a","ops":[{"op":"now"},{"op":"reort-message"}]}]`:                  `turn: script 1 (tool/a), op 1: there is no operation "reort-message": did you mean report-message or emit-message?`,
		`[{"seam":"executor/model#0","ops":[{"op":"fork","do":{"ops":[{"op":"akc"}]}}]}]`:                              `turn: script 0 (executor/model#0), op 0, do, op 0: there is no operation "akc": want one of abort, ack, add, `,
		`[{"seam":"s","ops":[{"op":"dispatch","dispatch":{"name":"d","scripts":[{"seam":"t","ops":[{"op":"x"}]}]}}]}]`: `turn: script 0 (s), op 0, dispatch, script 0 (t), op 0: there is no operation "x"`,
		`[{"seam":"s","ops":[{"op":"turnStart"}]}]`:                                                                    `there is no operation "turnStart"`,
		`[{"seam":"s","ops":[{}]}]`: `there is no operation "": want one of abort, ack, add, ask, bind, cancel, `,
	} {
		err := json.Unmarshal([]byte(`{"prompt":"p","scripts":`+scripts+`}`), new(turn.Turn))
		assert.ErrorContains(t, err, want, scripts)
	}
	for _, known := range []string{turn.OpDispatch, turn.OpJoin, turn.OpBind, turn.OpCancel, turn.OpSettle, turn.OpRead, turn.OpAsk, "next", "off-ack"} {
		assert.NoError(t, json.Unmarshal([]byte(`{"scripts":[{"seam":"s","ops":[{"op":"`+known+`","on":"nobody"}]}]}`), new(turn.Turn)), known)
	}
}
