package scenarios

import (
	"bytes"
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var media = []Scenario{
	{
		Name:  "read-image",
		About: "a tool gives an image; a middleware opens it through the context, and stashes what is written on it, which is less trusted than the image",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"The sign says that they are closed on Sundays."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("camera", nil)},
				{fakes.Say("The sign says that they are closed on Sundays."), fakes.Ack()},
			}
			config := agent(script, "Are they open on Sundays?", fakes.NewTool("camera", "Takes a picture of the door.", sign()).Tool())
			config.DispatchOutput = []adk.DispatchMiddleware{{Name: "read", Run: readImages}}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// sign makes an image by our own camera, in a format that a person can read too.
func sign() *adk.Media {
	const bitmap = "P1\n# CLOSED ON SUNDAYS\n3 1\n1 0 1\n"
	return must(adk.NewToolGenerated(adk.MediaInit{ID: "sign", Kind: adk.MediaImage, MIMEType: "image/x-portable-bitmap",
		Filename: "sign.pbm", Reader: adk.MediaBytes([]byte(bitmap))}))
}

// readImages adds to every image that a tool took the text that is written on it.
func readImages(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	for _, call := range dc.ToolCalls().All() {
		image, ok := call.Results().(*adk.Media)
		if !ok {
			continue
		}
		if _, read := image.Stashed("text"); read {
			continue
		}
		data, err := dc.OpenMedia(ctx, image)
		if err != nil {
			return err
		}
		init := call.Init()
		init.Results, init.UpdatedAt = withText(image, writtenOn(data)), dc.Now()
		if err := dc.ToolCalls().Mutate(ctx, must(adk.NewToolCall(init))); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// withText returns the image with the text that was found on it. The text is not trusted, because
// anybody may have painted the sign.
func withText(image *adk.Media, text string) *adk.Media {
	init := image.Init()
	init.Stash["text"] = adk.MediaStashEntry{Value: text, TrustTier: adk.TrustThirdPartyPublic, DerivedFrom: image.ID()}
	return must(adk.NewMedia(init))
}

// writtenOn returns the comment in a portable bitmap.
func writtenOn(bitmap []byte) string {
	_, comment, _ := bytes.Cut(bitmap, []byte("# "))
	text, _, _ := bytes.Cut(comment, []byte("\n"))
	return string(text)
}
