package artifact_test

import (
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// A body becomes a media with a mark, which says what can be asked of it; the body itself
// stays out of the prompt.
func ExampleNew() {
	media, err := artifact.New(artifact.Init{
		ID: "call1", Flavour: artifact.TextFlavour, Filename: "notes.txt", TrustTier: adk.TrustFirstParty,
		Reader: artifact.MemoryReader([]byte("one\ntwo\nthree\n")),
	})
	if err != nil {
		log.Fatal(err)
	}
	mark, ok := artifact.Of(media)
	fmt.Println(ok, mark.Flavour, media.Filename())
	// Output: true text notes.txt
}
