package prompt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// Bucket is a part of a prompt that can be placed (PRO-1).
type Bucket string

// The buckets.
const (
	StandingInstructions Bucket = "standingInstructions"
	Memories             Bucket = "memories"
	Retrievables         Bucket = "retrievables"
	Timeline             Bucket = "timeline"
)

// Buckets returns all buckets in their default order.
func Buckets() []Bucket {
	return []Bucket{StandingInstructions, Memories, Retrievables, Timeline}
}

// Surfacing says whose thoughts a prompt shows (IDN-4).
type Surfacing string

// The ways of surfacing.
const (
	// AllOwnThoughts is the default.
	AllOwnThoughts   Surfacing = "all-self"
	LatestOwnThought Surfacing = "latest-self"
	AllThoughts      Surfacing = "all"
)

// MediaMode says what is shown for media that have no native block.
type MediaMode string

// The modes.
const (
	// RefuseMedia is the default: E_UNSUPPORTED_MEDIA_MODALITY (MED-4).
	RefuseMedia MediaMode = "throw"
	// StashedText shows a text that was derived from the media before and put into its stash
	// (MED-5).
	StashedText MediaMode = "fallback-stash"
	// DescribeMedia shows name, type and size (MED-6).
	DescribeMedia MediaMode = "synthetic-description"
)

// MediaPolicy says what is shown in the place of media that have no native block.
type MediaPolicy struct {
	// Mode is the mode; empty means RefuseMedia.
	Mode MediaMode
	// StashKeys are the stash entries that StashedText looks for, in this order; nil means
	// DefaultStashKeys.
	StashKeys []string
}

// DefaultStashKeys returns the stash entries that StashedText looks for by default.
func DefaultStashKeys() []string {
	return []string{"text:transcript", "text:caption", "text:description"}
}

// DefaultSelf is the default identity of the agent.
const DefaultSelf = "assistant"

// Opener reads a media in such a way that a trace has what was read: a turn or a dispatch context.
type Opener interface {
	OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error)
}

// Options say how a prompt is made. The zero Options make the default prompt, for records without
// media.
type Options struct {
	// BucketOrder places the buckets (PRO-1); nil means all in their default order. An empty list
	// that is not nil places none.
	BucketOrder []Bucket
	// Self is the identifier of the agent itself (IDN-2); empty means DefaultSelf.
	Self string
	// Surfacing says whose thoughts are shown; empty means AllOwnThoughts.
	Surfacing Surfacing
	// ReplayCompatibility lists the forms of thoughts that the provider accepts (IDN-5).
	ReplayCompatibility []string
	// Media says what is shown for media without a native block.
	Media MediaPolicy
	// Artifacts says which tools are forged for artifacts, and where to find bodies whose media has
	// no reader.
	Artifacts artifact.Config
	// Opener reads native media and the bodies of inline artifacts. It is required if there are
	// any.
	Opener Opener
	// Warn is called with each problem that does not stop the prompt, each text once; optional.
	Warn func(text string)
	// Renderers replace the default ones, each that is not nil.
	Renderers Renderers
}

// Faults returns all that is wrong with the options, or nil. The paths are the names of an
// executor's options.
func (o Options) Faults() []adk.Fault {
	var faults []adk.Fault
	fault := func(path, format string, args ...any) {
		faults = append(faults, adk.Fault{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	for i, bucket := range o.BucketOrder {
		if !slices.Contains(Buckets(), bucket) {
			fault("bucketOrder", "has the unknown bucket %.40q, want %s", bucket, choice(Buckets()))
		} else if slices.Contains(o.BucketOrder[:i], bucket) {
			fault("bucketOrder", "has %s twice", bucket)
		}
	}
	ways := []Surfacing{AllOwnThoughts, LatestOwnThought, AllThoughts}
	if o.Surfacing != "" && !slices.Contains(ways, o.Surfacing) {
		fault("thoughtSurfacing", "is %.40q, want %s", o.Surfacing, choice(ways))
	}
	if slices.Contains(o.ReplayCompatibility, "") {
		fault("replayCompatibility", "has an empty item, want names of forms")
	}
	modes := []MediaMode{RefuseMedia, StashedText, DescribeMedia}
	if o.Media.Mode != "" && !slices.Contains(modes, o.Media.Mode) {
		fault("unsupportedMediaPolicy", "is %.40q, want %s", o.Media.Mode, choice(modes))
	}
	if slices.Contains(o.Media.StashKeys, "") {
		fault("unsupportedMediaPolicy.stashKeys", "has an empty key, want names of entries")
	}
	return faults
}

// choice lists the possible values in words.
func choice[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// OptionsError returns E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS with the faults, or nil if there
// are none.
func OptionsError(faults []adk.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Path + " " + f.Message
	}
	return &adk.Error{Code: adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, Message: strings.Join(texts, "; "), Faults: faults}
}

// withDefaults returns the options with defaults for what is not set.
func (o Options) withDefaults() Options {
	if o.BucketOrder == nil {
		o.BucketOrder = Buckets()
	}
	o.Self = cmp.Or(o.Self, DefaultSelf)
	o.Surfacing = cmp.Or(o.Surfacing, AllOwnThoughts)
	o.Media.Mode = cmp.Or(o.Media.Mode, RefuseMedia)
	if o.Media.StashKeys == nil {
		o.Media.StashKeys = DefaultStashKeys()
	}
	o.Renderers = o.Renderers.Over(DefaultRenderers())
	return o
}
