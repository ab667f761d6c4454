package turn

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/near"
)

// UnmarshalJSON reads a Turn, and refuses an operation with an unknown name: it would do nothing,
// and a check of the turn would pass without testing anything. The error names the operation, its
// script, and similar names that exist.
func (t *Turn) UnmarshalJSON(data []byte) error {
	type turn Turn
	if err := json.Unmarshal(data, (*turn)(t)); err != nil {
		return err
	}
	return knownScripts(t.Scripts, "")
}

func knownScripts(all []Script, within string) error {
	for i := range all {
		s := &all[i]
		if err := s.known(fmt.Sprintf("%sscript %d (%s), ", within, i, s.Seam)); err != nil {
			return err
		}
	}
	return nil
}

// known returns an error for the first unknown operation; where is the path to the body.
func (b *Body) known(where string) error {
	if b == nil {
		return nil
	}
	for i := range b.Ops {
		op, at := &b.Ops[i], fmt.Sprintf("%sop %d", where, i)
		if !isOperation(op.Kind) {
			return fmt.Errorf("turn: %s: there is no operation %q%s", at, op.Kind, near.OneOf(op.Kind, operations()))
		}
		if err := op.Do.known(at + ", do, "); err != nil {
			return err
		}
		if op.Dispatch != nil {
			if err := knownScripts(op.Dispatch.Scripts, at+", dispatch, "); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofTurnsAlone lists the operations that are not an adk.Kind.
var ofTurnsAlone = []string{OpDispatch, OpJoin, OpBind, OpCancel, OpSettle, OpRead}

func isOperation(name string) bool {
	return adk.KindByName(name).Class() == adk.ClassOperation || slices.Contains(ofTurnsAlone, name)
}

// operations returns the names of all operations.
func operations() []string {
	names := slices.Clone(ofTurnsAlone)
	for _, kind := range adk.Kinds() {
		if kind.Class() == adk.ClassOperation {
			names = append(names, kind.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
