// Package browser tests the page of package page in a real browser. It is a module of its own, so that
// importers of the main module do not get the driver of a browser.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/patience"
)

// names are the names of browsers that the tests can drive.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// running returns the one browser that all tests share, or an error that says why there is none.
var running = sync.OnceValues(func() (context.Context, error) {
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(patience.Long))
		if os.Geteuid() == 0 { // the browser's sandbox does not work for root
			options = append(options, chromedp.NoSandbox)
		}
		allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, _ := chromedp.NewContext(allocator)
		return ctx, chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	}
	return nil, fmt.Errorf("there is no browser: none of %s is installed", strings.Join(names, ", "))
})

func TestMain(m *testing.M) {
	if ctx, err := running(); ctx == nil {
		fmt.Println("skipped:", err) // go test does not print why it skips a test
	}
	code := m.Run()
	if ctx, err := running(); err == nil {
		_ = chromedp.Cancel(ctx) // a browser that does not end by itself is killed with this process
	}
	os.Exit(code)
}

// tab is an open page.
type tab struct {
	t    *testing.T
	ctx  context.Context
	file string

	mu       sync.Mutex
	messages []string // on the console
	requests []string // for anything except the page
	blocked  []string // why requests were refused
	dialogs  int
}

// opened opens the file of a page in its own tab. When the test ends, it fails if there is a message on the
// console, or if the page made any request.
func opened(t *testing.T, file, hash string) *tab {
	t.Helper()
	b := raw(t, file+hash)
	b.ready()
	return b
}

// raw opens a page and does not wait for it.
func raw(t *testing.T, address string) *tab {
	t.Helper()
	file, _, _ := strings.Cut(address, "#")
	browser, err := running()
	if browser == nil {
		t.Skip(err)
	}
	require.NoError(t, err)
	b := &tab{t: t, file: file}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx = ctx
	_, err = chromedp.Call(b.target(), network.Enable, network.EnableParams{})
	require.NoError(t, err)
	t.Cleanup(b.quiet)
	b.do(chromedp.Navigate("file://" + address))
	return b
}

// target returns the context of the tab. The first action in the tab creates it.
func (b *tab) target() context.Context {
	b.do(chromedp.Navigate("about:blank"))
	return b.ctx
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += ": " + thrown.Description
		}
		b.messages = append(b.messages, text)
	case *log.EventEntryAdded:
		b.messages = append(b.messages, e.Entry.Text)
	case *protocol.EventJavascriptDialogOpening:
		b.dialogs++
	case *network.EventLoadingFailed:
		b.blocked = append(b.blocked, string(e.BlockedReason))
	case *network.EventRequestWillBeSent:
		if url, _, _ := strings.Cut(e.Request.URL, "#"); url != "file://"+b.file && url != "about:blank" {
			b.requests = append(b.requests, e.Request.URL)
		}
	}
}

func (b *tab) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(b.t, b.messages, "the console says nothing")
	assert.Empty(b.t, b.requests, "nothing is asked of anybody")
	assert.Zero(b.t, b.dialogs)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience.Long)
	defer cancel()
	if chromedp.FromContext(b.ctx).Target == nil { // the first target lives as long as the context that it was created with
		ctx = b.ctx
	}
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

// is evaluates an expression in the page.
func is[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience.Long)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return value
}

// until waits until an expression in the page is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience.Long)
	defer cancel()
	waiting := fmt.Sprintf(`new Promise((done) => { const look = () => (%s) ? done(true) : setTimeout(look, 5); look(); })`, expression)
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](waiting, chromedp.EvalAwaitPromise))
	for err != nil && ctx.Err() == nil && (strings.Contains(err.Error(), "context") || strings.Contains(err.Error(), "navigated")) { // of a document that has gone
		_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](waiting, chromedp.EvalAwaitPromise))
	}
	require.NoError(b.t, err, expression)
}

// ready waits until the page shows what its address asks for.
func (b *tab) ready() {
	b.t.Helper()
	b.until(`document.documentElement.dataset.ready === (location.hash || "#")`)
}

// goTo changes the hash of the page's address.
func (b *tab) goTo(hash string) {
	b.t.Helper()
	is[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, hash))
	b.ready()
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		if len(key) > 1 || key < " " || key > "~" {
			b.do(chromedp.KeyEvent(key))
			continue
		}
		// As a keyboard does: the character follows if no handler took the key.
		for _, params := range []input.DispatchKeyEventParams{
			{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}, {Type: input.DispatchKeyEventTypeKeyUp, Key: key},
		} {
			_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, params)
			require.NoError(b.t, err)
		}
	}
	b.ready()
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return is[string](b, fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector))
}

// count returns the number of elements that match a selector.
func (b *tab) count(selector string) int {
	b.t.Helper()
	return is[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}

// shot saves a picture of the page in the folder that ADKREPLAY_SHOTS names.
func (b *tab) shot(name string) {
	b.t.Helper()
	folder := os.Getenv("ADKREPLAY_SHOTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
}

// written writes a page into a new file.
func written(t *testing.T, p *page.Page) string {
	t.Helper()
	var content bytes.Buffer
	_, err := p.Write(&content)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, content.Bytes(), 0o600))
	return file
}

func source(name string, content []byte) page.Source {
	return page.Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// decoded decodes JSON as plain data.
func decoded(t *testing.T, document []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(document, &v))
	return v
}
