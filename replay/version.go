package replay

import (
	"fmt"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// newerContract is the report on a trace that was recorded under a revision of
// the contract which this engine does not know; nil for any other. Replaying it
// would hold the engine to promises that it never made.
func newerContract(h trace.Header, live Live) *Report {
	if h.Contract <= trace.ContractRevision {
		return nil
	}
	return &Report{Live: live.parts(), Divergence: &Divergence{
		Class:    NewContract,
		Expected: fmt.Sprintf("an engine that keeps revision %d of the contract", h.Contract),
		Fields:   []compare.FieldDiff{{Field: wire.MemberContract, Want: fmt.Sprint(h.Contract), Got: fmt.Sprint(trace.ContractRevision)}},
	}}
}
