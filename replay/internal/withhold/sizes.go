package withhold

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// WithSizes returns a context with which artifacts of tool calls are made again without the parts
// of their marks that redaction removed (ART-25).
func WithSizes(ctx context.Context, recorded []*adk.Crossing) context.Context {
	var sizes map[string]forging.Size
	for _, x := range recorded {
		call, _ := x.Record.(*adk.ToolCall)
		if call == nil {
			continue
		}
		media, _ := call.Results().(*adk.Media)
		if media == nil {
			continue
		}
		mark, _ := media.Stashed(forging.StashKey)
		if size, unhashed := forging.Unhashed(mark.Value); unhashed {
			if sizes == nil {
				sizes = map[string]forging.Size{}
			}
			sizes[call.ID()] = size
		}
	}
	if sizes == nil {
		return ctx
	}
	return forging.WithSizes(ctx, sizes)
}
