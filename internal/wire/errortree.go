package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// The limits of an error's tree. Chains that people make are a handful of errors deep, but a chain
// that leads back to itself has no end.
const (
	maxErrorDepth = 64
	MaxErrorNodes = 1000
)

// The members of an error's node.
const (
	ErrorCode     = "code"
	errorMessage  = "message"
	ErrorStage    = "stage"
	errorName     = "name"
	ErrorFaults   = "faults"
	errorPanic    = "panic"
	ErrorSentinel = "sentinel"
	errorText     = "text"
	ErrorIs       = "is"
	errorCut      = "cut"
	ErrorCause    = "cause"
	ErrorCauses   = "causes"
)

// IsOfErrorsFormat reports whether a place within the JSON of an error holds a word of the format.
// Any other text there would be invalid or would mean nothing.
func IsOfErrorsFormat(place string) bool {
	at := strings.Split(place, "/")
	switch last := at[len(at)-1]; last {
	case ErrorCode, ErrorSentinel, ErrorStage, ErrorType:
		return true
	default:
		return len(at) > 1 && at[len(at)-2] == ErrorIs
	}
}

// The members of a fault.
const (
	faultPath    = "path"
	faultKeyword = "keyword"
	faultMessage = "message"
)

// wrapped stands for an error of a type that a trace does not know. It has the error's text,
// answers errors.Is as the error did, and unwraps to its cause.
type wrapped struct {
	text   string
	claims claims
	cause  error // or nil
}

func (e *wrapped) Error() string        { return e.text }
func (e *wrapped) Is(target error) bool { return e.claims.hold(target) }
func (e *wrapped) Unwrap() error        { return e.cause }

// joined is like wrapped, for an error with several causes.
type joined struct {
	text   string
	claims claims
	causes []error
}

func (e *joined) Error() string        { return e.text }
func (e *joined) Is(target error) bool { return e.claims.hold(target) }
func (e *joined) Unwrap() []error      { return e.causes }

// claims are the sentinels for which an error's own Is method returned true. In known, sentinels
// whose names are not known here are nil.
type claims struct {
	names []string
	known []error
}

func (c claims) hold(target error) bool {
	return slices.ContainsFunc(c.known, func(one error) bool { return one != nil && sameError(one, target) })
}

// named stands for a sentinel of user code that is not known here, or whose text differs today.
type named struct {
	name, text string
	today      error // or nil
}

func (e *named) Error() string { return e.text }
func (e *named) Unwrap() error { return e.today }

// panicked stands for an error that was given to panic, if the recorded text of the panic was not
// the error's.
type panicked struct {
	text  string
	cause error
}

func (e *panicked) Error() string { return e.text }
func (e *panicked) Unwrap() error { return e.cause }

// isBare reports whether an error that was read from a trace, or one that it wraps, is little more
// than its text.
func isBare(err error) bool {
	for ; err != nil; err = unwrap(err) {
		switch x := err.(type) {
		case *wrapped, *late, *joined:
			return true
		case *formed:
			return x.today == nil
		case *named:
			return x.today == nil
		}
	}
	return false
}

// cut stands for the part of an error's tree beyond the limits.
type cut struct{ text string }

func (e *cut) Error() string { return e.text }

// ErrorField writes an error as a tree.
func (e *Encoder) ErrorField(label string, err error) {
	if err != nil {
		e.Key(label)
		w := walker{path: e.path[:0], left: 10 * MaxErrorNodes}
		e.endless = w.boundless(err)
		e.nodes, e.path = 0, w.path[:0]
		e.errorNode(err)
	}
}

// errorNode writes one node of an error's tree, and the nodes below it.
func (e *Encoder) errorNode(err error) {
	e.nodes++
	e.Out = append(e.Out, '{')
	if len(e.path) >= maxErrorDepth || e.nodes > MaxErrorNodes || onPath(e.path, err) {
		e.always(errorCut, cutText(err))
	} else {
		e.path = append(e.path, err)
		e.errorMembers(err)
		e.path = e.path[:len(e.path)-1]
	}
	e.Out = append(e.Out, '}')
}

func (e *Encoder) errorMembers(err error) {
	switch x := err.(type) {
	case *adk.Error:
		if x != nil {
			e.engineError(x)
			return
		}
	case *adk.PanicError:
		if x != nil {
			e.panicError(x)
			return
		}
	case *named:
		e.sentinel(x.name, x.text)
		return
	case *cut:
		e.always(errorCut, x.text)
		return
	}
	if name, ok := e.sentinels.ofItself(err); ok {
		e.sentinel(name, e.textOf(err))
		return
	}
	e.otherError(err)
}

func (e *Encoder) engineError(x *adk.Error) {
	e.always(ErrorCode, string(x.Code))
	e.String(errorMessage, x.Message)
	e.String(ErrorStage, x.Stage)
	e.String(errorName, x.Name)
	e.faults(x.Faults)
	e.cause(x.Cause)
}

// faults writes the faults of an error, if the version of the format has them.
func (e *Encoder) faults(list []adk.Fault) {
	if len(list) == 0 || !hasFaults(e.Format) {
		return
	}
	e.rawKey(ErrorFaults)
	e.Out = append(e.Out, '[')
	for _, f := range list {
		e.comma()
		e.Out = append(e.Out, '{')
		e.String(faultPath, f.Path)
		e.String(faultKeyword, f.Keyword)
		e.String(faultMessage, f.Message)
		e.Out = append(e.Out, '}')
	}
	e.Out = append(e.Out, ']')
}

// panicError writes a panic without its stack, because nothing that is compared may depend on a
// stack.
func (e *Encoder) panicError(x *adk.PanicError) {
	switch value := x.Value.(type) {
	case *panicked:
		e.always(errorPanic, value.text)
		e.cause(value.cause)
	case error:
		e.always(errorPanic, e.panicText(value))
		e.cause(value)
	default:
		e.always(errorPanic, adk.PanicText(x.Value))
	}
}

func (e *Encoder) sentinel(name, text string) {
	e.always(ErrorSentinel, name)
	if needsText(name) {
		e.always(errorText, text)
	}
}

func (e *Encoder) otherError(err error) {
	e.always(errorText, e.textOf(err))
	if hasForms(e.Format) {
		if form, with := e.sentinels.forms.in(err); form != "" {
			e.formMembers(form, with)
		} else if timeout, says := saysTimeout(err); says {
			e.rawKey(ErrorTimeout)
			e.Out = strconv.AppendBool(e.Out, timeout)
		}
	}
	switch x := err.(type) {
	case *formed:
		e.claims(x.claims.names)
		e.cause(x.cause)
	case *late:
		e.claims(x.claims.names)
		e.cause(x.cause)
	case *wrapped:
		e.claims(x.claims.names)
		e.cause(x.cause)
	case *joined:
		e.claims(x.claims.names)
		e.causes(x.causes)
	case interface{ Unwrap() []error }:
		e.claims(e.sentinels.claimedBy(err))
		e.causes(unwrapAll(x))
	default:
		e.claims(e.sentinels.claimedBy(err))
		e.cause(unwrap(err))
	}
}

func (e *Encoder) claims(names []string) {
	if len(names) > 0 {
		e.rawKey(ErrorIs)
		e.Out = append(e.Out, '[')
		for _, name := range names {
			e.comma()
			e.Text(name)
		}
		e.Out = append(e.Out, ']')
	}
}

func (e *Encoder) cause(err error) {
	if err != nil {
		e.rawKey(ErrorCause)
		e.errorNode(err)
	}
}

// causes writes the causes of a joined error. It stops after the first one beyond MaxErrorNodes.
func (e *Encoder) causes(list []error) {
	list = slices.DeleteFunc(slices.Clone(list), func(err error) bool { return err == nil })
	if len(list) == 0 {
		return
	}
	e.rawKey(ErrorCauses)
	e.Out = append(e.Out, '[')
	for _, err := range list {
		e.comma()
		e.errorNode(err)
		if e.nodes > MaxErrorNodes {
			break
		}
	}
	e.Out = append(e.Out, ']')
}

// always writes a text even if it is empty, because the member determines what the node is.
func (e *Encoder) always(name, text string) {
	e.rawKey(name)
	e.Text(text)
}

// textOf returns an error's text, even if its Error method panics.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprint(err) // says that the method panics
		}
	}()
	return err.Error()
}

// textOf returns an error's text. It does not call Error on an error that leads back to itself,
// since that might never return.
func (e *Encoder) textOf(err error) string {
	if e.endless {
		return cutText(err)
	}
	return textOf(err)
}

// panicText returns the text of a panic with an error.
func (e *Encoder) panicText(value error) string {
	if e.endless {
		return cutText(value)
	}
	return adk.PanicText(value)
}

// walker walks an error's tree from cause to cause.
type walker struct {
	path []error
	left int // how many more nodes to visit
}

// boundless reports whether err leads back to itself, or is larger than the limits of the walk.
func (w *walker) boundless(err error) bool {
	if err == nil {
		return false
	}
	if w.left--; w.left < 0 || len(w.path) > MaxErrorNodes || onPath(w.path, err) {
		return true
	}
	w.path = append(w.path, err)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(unwrapAll(many), w.boundless)
	}
	return w.boundless(unwrap(err))
}

// onPath reports whether err is one of the errors on path.
func onPath(path []error, err error) bool {
	return slices.ContainsFunc(path, func(one error) bool { return sameError(one, err) })
}

// cutText returns what is kept of an error beyond the limits.
func cutText(err error) string {
	switch x := err.(type) {
	case *cut:
		return x.text
	case *adk.Error:
		if x != nil {
			return string(x.Code) + ": " + x.Message
		}
	case *adk.PanicError:
		return "panic"
	}
	return fmt.Sprintf("%T", err)
}

func unwrap(err error) (cause error) {
	defer func() {
		if recover() != nil {
			cause = nil
		}
	}()
	return errors.Unwrap(err)
}

func unwrapAll(err interface{ Unwrap() []error }) (causes []error) {
	defer func() {
		if recover() != nil {
			causes = nil
		}
	}()
	return err.Unwrap()
}

// errorTree reads an error.
func (d *Decoder) errorTree(raw []byte, depth int) (error, error) {
	if depth > maxErrorDepth+1 {
		return nil, fmt.Errorf("an error is nested more than %d deep", maxErrorDepth)
	}
	members, err := ScanMembers(nil, raw)
	if err != nil {
		return nil, err
	}
	n := errorNode{d: d, depth: depth}
	for _, m := range members {
		if err := n.member(m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return n.build()
}

// errorNode is a node of an error while it is being read.
type errorNode struct {
	d     *Decoder
	depth int
	has   map[string]bool

	code, message, stage, name string
	panic, sentinel, text, cut string
	form                       string
	with                       map[string]string
	timeout                    bool
	is                         []string
	faults                     []adk.Fault
	cause                      error
	causes                     []error
}

func (n *errorNode) member(m ScannedMember) (err error) {
	if n.has == nil {
		n.has = map[string]bool{}
	}
	name := string(m.Name)
	n.has[name] = true
	if name == ErrorFaults && hasFaults(n.d.Format) {
		n.faults, err = faultList(m.Value)
		return err
	}
	if hasForms(n.d.Format) {
		if known, err := n.formMember(name, m.Value); known {
			return err
		}
	}
	switch name {
	case ErrorCause:
		n.cause, err = n.d.errorTree(m.Value, n.depth+1)
	case ErrorCauses:
		n.causes, err = n.list(m.Value)
	case ErrorIs:
		n.is, err = textList(m.Value)
	default:
		text := n.texts(name)
		if text == nil {
			return errors.New("is no member of an error")
		}
		*text, err = TextOfJSON(m.Value)
	}
	return err
}

// formMember reads a member that only errors with a form, or with a Timeout method, have.
func (n *errorNode) formMember(name string, raw []byte) (known bool, err error) {
	switch name {
	case ErrorType:
		n.form, err = TextOfJSON(raw)
	case ErrorWith:
		n.with, err = readWith(raw)
	case ErrorTimeout:
		n.timeout, err = BoolOfJSON(raw)
	default:
		return false, nil
	}
	return true, err
}

// texts returns where to store the text of a member, or nil if there is no such member.
func (n *errorNode) texts(name string) *string {
	switch name {
	case ErrorCode:
		return &n.code
	case errorMessage:
		return &n.message
	case ErrorStage:
		return &n.stage
	case errorName:
		return &n.name
	case errorPanic:
		return &n.panic
	case ErrorSentinel:
		return &n.sentinel
	case errorText:
		return &n.text
	case errorCut:
		return &n.cut
	}
	return nil
}

func (n *errorNode) list(raw []byte) ([]error, error) {
	return listOf(raw, func(one []byte) (error, error) { return n.d.errorTree(one, n.depth+1) })
}

func faultList(raw []byte) ([]adk.Fault, error) { return listOf(raw, faultOfJSON) }

func faultOfJSON(raw []byte) (f adk.Fault, err error) {
	members, err := ScanMembers(nil, raw)
	if err != nil {
		return f, err
	}
	for _, m := range members {
		var text *string
		switch string(m.Name) {
		case faultPath:
			text = &f.Path
		case faultKeyword:
			text = &f.Keyword
		case faultMessage:
			text = &f.Message
		default:
			return f, fmt.Errorf("%s: is no member of a fault", m.Name)
		}
		if *text, err = TextOfJSON(m.Value); err != nil {
			return f, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return f, nil
}

// build makes an error from the members that were read.
func (n *errorNode) build() (error, error) {
	switch {
	case n.only(ErrorCode, errorMessage, ErrorStage, errorName, ErrorFaults, ErrorCause):
		return &adk.Error{Code: adk.Code(n.code), Message: n.message, Stage: n.stage, Name: n.name, Faults: n.faults, Cause: n.cause}, nil
	case n.only(errorPanic, ErrorCause):
		return n.panicError(), nil
	case n.only(ErrorSentinel, errorText):
		return n.sentinelError()
	case n.has[ErrorType] && n.only(errorText, ErrorType, ErrorWith, ErrorIs, ErrorCause):
		return n.formedError(), nil
	case n.has[ErrorTimeout] && n.only(errorText, ErrorTimeout, ErrorIs, ErrorCause):
		return &late{wrapped{n.text, n.claims(), n.cause}, n.timeout}, nil
	case n.only(errorText, ErrorIs, ErrorCause):
		return &wrapped{n.text, n.claims(), n.cause}, nil
	case n.only(errorText, ErrorIs, ErrorCauses):
		return &joined{n.text, n.claims(), n.causes}, nil
	case n.only(errorCut):
		return &cut{n.cut}, nil
	}
	return nil, errors.New("is no error: want a code, a panic, a sentinel or a text, and what belongs to it")
}

// only reports whether the node has the member first, and no members except it and others.
func (n *errorNode) only(first string, others ...string) bool {
	if !n.has[first] {
		return false
	}
	for name := range n.has {
		if name != first && !slices.Contains(others, name) {
			return false
		}
	}
	return true
}

func (n *errorNode) panicError() error {
	if n.cause == nil {
		return &adk.PanicError{Value: n.panic}
	}
	if n.cause.Error() == n.panic {
		return &adk.PanicError{Value: n.cause}
	}
	return &adk.PanicError{Value: &panicked{n.panic, n.cause}}
}

func (n *errorNode) sentinelError() (error, error) {
	today := n.d.Sentinels.find(n.sentinel)
	if !needsText(n.sentinel) {
		if n.has[errorText] {
			return nil, fmt.Errorf("%s: its text is known", n.sentinel)
		}
		return today, nil
	}
	if !n.has[errorText] {
		return nil, fmt.Errorf("%s: is not known, and has no text", n.sentinel)
	}
	if today != nil && textOf(today) == n.text {
		return today, nil
	}
	return &named{n.sentinel, n.text, today}, nil
}

func (n *errorNode) claims() claims {
	c := claims{names: n.is}
	for _, name := range n.is {
		c.known = append(c.known, n.d.Sentinels.find(name))
	}
	return c
}
