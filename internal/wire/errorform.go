package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// This file holds the types of errors that code looks for with errors.As and whose values a trace
// can give back, such as those of the network, of TLS and of certificates.

// The members of an error's node: the name of its type and the parts of its value, if a trace can
// give the type back; and, for other errors that have a Timeout method, what that returned.
const (
	ErrorType    = "type"
	ErrorWith    = "with"
	ErrorTimeout = "timeout"
)

// ErrorForm is how a trace keeps the errors of one type, so that errors.As finds them in a replay.
// The value of an error is kept as named texts; an empty text is left out.
type ErrorForm struct {
	// Split returns the texts of an error of the type, and nil for any other error.
	Split func(err error) map[string]string
	// Build makes an error of the texts and of the error that it wrapped, or returns nil if that is
	// impossible.
	Build func(with map[string]string, cause error) error

	of    reflect.Type // nil if only Split can tell
	wrong error        // why nothing can be kept of errors of the type, or nil
}

// formOf returns the form of the errors of type E.
func formOf[E error](split func(E) map[string]string, build func(with map[string]string, cause error) error) ErrorForm {
	return ErrorForm{
		of: reflect.TypeFor[E](),
		Split: func(err error) map[string]string {
			if one, ok := err.(E); ok && !isNil(err) {
				return split(one)
			}
			return nil
		},
		Build: build,
	}
}

// errorForms maps the names that traces have for types of errors to their forms. The names never
// change.
var errorForms = map[string]ErrorForm{
	"net.OpError": formOf(
		func(e *net.OpError) map[string]string {
			return map[string]string{"op": e.Op, "net": e.Net, "source": addressText(e.Source), "addr": addressText(e.Addr)}
		},
		func(with map[string]string, cause error) error {
			return &net.OpError{Op: with["op"], Net: with["net"], Source: addressOf(with["net"], with["source"]), Addr: addressOf(with["net"], with["addr"]), Err: cause}
		}),
	"net.DNSError": formOf(
		func(e *net.DNSError) map[string]string {
			return map[string]string{"err": e.Err, "name": e.Name, "server": e.Server, "timeout": yes(e.IsTimeout), "temporary": yes(e.IsTemporary), "notFound": yes(e.IsNotFound)}
		},
		func(with map[string]string, cause error) error {
			return &net.DNSError{Err: with["err"], Name: with["name"], Server: with["server"], UnwrapErr: cause,
				IsTimeout: with["timeout"] != "", IsTemporary: with["temporary"] != "", IsNotFound: with["notFound"] != ""}
		}),
	"net.AddrError": formOf(
		func(e *net.AddrError) map[string]string { return map[string]string{"err": e.Err, "addr": e.Addr} },
		func(with map[string]string, _ error) error {
			return &net.AddrError{Err: with["err"], Addr: with["addr"]}
		}),
	"url.Error": formOf(
		func(e *url.Error) map[string]string { return map[string]string{"op": e.Op, "url": e.URL} },
		func(with map[string]string, cause error) error {
			return &url.Error{Op: with["op"], URL: with["url"], Err: cause}
		}),
	"os.SyscallError": formOf(
		func(e *os.SyscallError) map[string]string { return map[string]string{"syscall": e.Syscall} },
		func(with map[string]string, cause error) error {
			return &os.SyscallError{Syscall: with["syscall"], Err: cause}
		}),
	"syscall.Errno": formOf(splitErrno, buildErrno),

	"tls.CertificateVerificationError": formOf(
		func(e *tls.CertificateVerificationError) map[string]string {
			return map[string]string{"certificates": certificatesText(e.UnverifiedCertificates...)}
		},
		func(with map[string]string, cause error) error {
			chain, ok := certificatesOf(with["certificates"])
			return orNone(ok, &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: cause})
		}),
	"tls.RecordHeaderError": formOf(
		func(e tls.RecordHeaderError) map[string]string {
			return map[string]string{"msg": e.Msg, "header": base64.StdEncoding.EncodeToString(e.RecordHeader[:])}
		},
		func(with map[string]string, _ error) error {
			e := tls.RecordHeaderError{Msg: with["msg"]}
			header, err := base64.StdEncoding.DecodeString(with["header"])
			return orNone(err == nil && copy(e.RecordHeader[:], header) == len(e.RecordHeader), e)
		}),
	"tls.AlertError": formOf(
		func(e tls.AlertError) map[string]string { return map[string]string{"alert": strconv.Itoa(int(e))} },
		func(with map[string]string, _ error) error {
			n, err := strconv.ParseUint(with["alert"], 10, 8)
			return orNone(err == nil, tls.AlertError(n))
		}),
	"tls.ECHRejectionError": formOf(
		func(e *tls.ECHRejectionError) map[string]string {
			return map[string]string{"retry": base64.StdEncoding.EncodeToString(e.RetryConfigList)}
		},
		func(with map[string]string, _ error) error {
			list, err := base64.StdEncoding.DecodeString(with["retry"])
			return orNone(err == nil, &tls.ECHRejectionError{RetryConfigList: list})
		}),
	"x509.UnknownAuthorityError": formOf(
		func(e x509.UnknownAuthorityError) map[string]string {
			return map[string]string{"certificate": certificatesText(e.Cert)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			return orNone(ok, x509.UnknownAuthorityError{Cert: cert})
		}),
	"x509.HostnameError": formOf(
		func(e x509.HostnameError) map[string]string {
			return map[string]string{"host": e.Host, "certificate": certificatesText(e.Certificate)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			return orNone(ok && cert != nil, x509.HostnameError{Host: with["host"], Certificate: cert})
		}),
	"x509.CertificateInvalidError": formOf(
		func(e x509.CertificateInvalidError) map[string]string {
			return map[string]string{"reason": strconv.Itoa(int(e.Reason)), "detail": e.Detail, "certificate": certificatesText(e.Cert)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			reason, err := strconv.Atoi(with["reason"])
			return orNone(ok && err == nil, x509.CertificateInvalidError{Cert: cert, Reason: x509.InvalidReason(reason), Detail: with["detail"]})
		}),
	"x509.SystemRootsError": formOf(
		func(x509.SystemRootsError) map[string]string { return map[string]string{} },
		func(_ map[string]string, cause error) error { return x509.SystemRootsError{Err: cause} }),
	"x509.ConstraintViolationError":   formOf(nothing[x509.ConstraintViolationError], always[x509.ConstraintViolationError]),
	"x509.UnhandledCriticalExtension": formOf(nothing[x509.UnhandledCriticalExtension], always[x509.UnhandledCriticalExtension]),
	"x509.InsecureAlgorithmError": formOf(
		func(e x509.InsecureAlgorithmError) map[string]string {
			return map[string]string{"algorithm": strconv.Itoa(int(e))}
		},
		func(with map[string]string, _ error) error {
			n, err := strconv.Atoi(with["algorithm"])
			return orNone(err == nil, x509.InsecureAlgorithmError(n))
		}),
}

// laterErrorForms are known too, but older traces do not have them. As with laterSentinels, what an
// older trace does not say about them is no difference.
var laterErrorForms = map[string]ErrorForm{
	"exec.Error": formOf(
		func(e *exec.Error) map[string]string { return map[string]string{"name": e.Name} },
		func(with map[string]string, cause error) error { return &exec.Error{Name: with["name"], Err: cause} }),
	"fs.PathError": formOf(
		func(e *fs.PathError) map[string]string { return map[string]string{"op": e.Op, "path": e.Path} },
		func(with map[string]string, cause error) error {
			return &fs.PathError{Op: with["op"], Path: with["path"], Err: cause}
		}),
	"os.LinkError": formOf(
		func(e *os.LinkError) map[string]string {
			return map[string]string{"op": e.Op, "old": e.Old, "new": e.New}
		},
		func(with map[string]string, cause error) error {
			return &os.LinkError{Op: with["op"], Old: with["old"], New: with["new"], Err: cause}
		}),
	"strconv.NumError": formOf(
		func(e *strconv.NumError) map[string]string { return map[string]string{"func": e.Func, "num": e.Num} },
		func(with map[string]string, cause error) error {
			return &strconv.NumError{Func: with["func"], Num: with["num"], Err: cause}
		}),
}

// forms holds the types of errors that are known by name.
type forms struct {
	byName map[string]ErrorForm
	nameOf map[reflect.Type]string // for those of a single Go type
	others []string                // the sorted names of those that only Split can recognise
}

func formsOf(all ...map[string]ErrorForm) forms {
	f := forms{byName: map[string]ErrorForm{}, nameOf: map[reflect.Type]string{}}
	for _, some := range all {
		for _, name := range slices.Sorted(maps.Keys(some)) {
			f.byName[name] = some[name]
			if of := some[name].of; of != nil {
				f.nameOf[of] = name // a user's name of a type wins, since the user's forms come last
			} else {
				f.others = append(f.others, name)
			}
		}
	}
	return f
}

// checkForm returns what is wrong with a type of errors that a user names, or nil.
func checkForm(name string, form ErrorForm) error {
	_, taken := errorForms[name]
	_, later := laterErrorForms[name]
	switch {
	case taken, later:
		return errors.New("is the name of a type that is known already")
	case name == "":
		return errors.New("is no name")
	case form.Split == nil, form.Build == nil:
		return errors.New("wants Split and Build: trace.ErrorOf has both")
	}
	return form.wrong
}

func nothing[E error](E) map[string]string { return map[string]string{} }

func always[E error](map[string]string, error) error { var e E; return e }

func orNone(ok bool, err error) error {
	if ok {
		return err
	}
	return nil
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return ""
}

// errnos are the system errors that a network gives, by name, because their numbers differ between
// operating systems.
var errnos = map[string]syscall.Errno{
	"ECONNREFUSED": syscall.ECONNREFUSED, "ECONNRESET": syscall.ECONNRESET, "ECONNABORTED": syscall.ECONNABORTED, "EPIPE": syscall.EPIPE,
	"ETIMEDOUT": syscall.ETIMEDOUT, "EHOSTUNREACH": syscall.EHOSTUNREACH, "ENETUNREACH": syscall.ENETUNREACH, "ENETDOWN": syscall.ENETDOWN,
	"EADDRINUSE": syscall.EADDRINUSE, "EADDRNOTAVAIL": syscall.EADDRNOTAVAIL, "ENOTCONN": syscall.ENOTCONN, "EINTR": syscall.EINTR,
	"EMFILE": syscall.EMFILE, "ENOENT": syscall.ENOENT, "EACCES": syscall.EACCES,
}

func splitErrno(e syscall.Errno) map[string]string {
	for _, name := range slices.Sorted(maps.Keys(errnos)) {
		if errnos[name] == e {
			return map[string]string{"name": name}
		}
	}
	return nil
}

func buildErrno(with map[string]string, _ error) error {
	e, known := errnos[with["name"]]
	return orNone(known, e)
}

// textAddr is an address of which only the text is known.
type textAddr struct{ network, text string }

func (a textAddr) Network() string { return a.network }
func (a textAddr) String() string  { return a.text }

func addressText(a net.Addr) string {
	if a == nil || isNil(a) {
		return ""
	}
	return a.String()
}

// addressOf parses the text of an address into the type that the network uses for it.
func addressOf(network, text string) net.Addr {
	if text == "" {
		return nil
	}
	at, err := netip.ParseAddrPort(text)
	switch {
	case err == nil && strings.HasPrefix(network, "tcp"):
		return net.TCPAddrFromAddrPort(at)
	case err == nil && strings.HasPrefix(network, "udp"):
		return net.UDPAddrFromAddrPort(at)
	}
	return textAddr{network, text}
}

func certificatesText(chain ...*x509.Certificate) string {
	var texts []string
	for _, one := range chain {
		if one != nil {
			texts = append(texts, base64.StdEncoding.EncodeToString(one.Raw))
		}
	}
	return strings.Join(texts, " ")
}

func certificatesOf(text string) (chain []*x509.Certificate, ok bool) {
	for _, one := range strings.Fields(text) {
		raw, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			return nil, false
		}
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, false
		}
		chain = append(chain, cert)
	}
	return chain, true
}

// certificateOf returns the only certificate in text, or nil if there is none.
func certificateOf(text string) (*x509.Certificate, bool) {
	chain, ok := certificatesOf(text)
	if !ok || len(chain) != 1 {
		return nil, ok && len(chain) == 0
	}
	return chain[0], true
}

// formed stands for an error of a form that today's code cannot rebuild exactly: its text differs,
// it wraps something that its type does not keep, its texts are redacted, or its type is not known
// here. errors.As still finds an error of the type in it if one can be built.
type formed struct {
	wrapped
	form  string
	with  map[string]string
	today error // or nil
}

// As assigns the rebuilt error to target if its type, or an interface that it implements, is what
// target asks for.
func (e *formed) As(target any) bool {
	if e.today == nil {
		return false
	}
	to := reflect.ValueOf(target).Elem()
	today := reflect.ValueOf(e.today)
	if !today.Type().AssignableTo(to.Type()) {
		return false
	}
	to.Set(today)
	return true
}

// late stands for an error of a type that a trace does not know, but that has a Timeout method.
type late struct {
	wrapped
	timeout bool
}

func (e *late) Timeout() bool   { return e.timeout }
func (e *late) Temporary() bool { return e.timeout }

// saysTimeout returns what the error's Timeout method returns, and whether there is one that does
// not panic.
func saysTimeout(err error) (timeout, says bool) {
	one, says := err.(interface{ Timeout() bool })
	if !says {
		return false, false
	}
	defer func() {
		if recover() != nil {
			timeout, says = false, false
		}
	}()
	return one.Timeout(), true
}

// formMembers writes the type and the texts of an error with a form.
func (e *Encoder) formMembers(form string, with map[string]string) {
	e.always(ErrorType, form)
	if with = nonEmpty(with); len(with) == 0 {
		return
	}
	e.rawKey(ErrorWith)
	e.Out = append(e.Out, '{')
	for _, name := range slices.Sorted(maps.Keys(with)) {
		e.comma()
		e.Out = append(canonical.AppendString(e.Out, name), ':')
		e.Text(with[name])
	}
	e.Out = append(e.Out, '}')
}

func nonEmpty(with map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range with {
		if text != "" {
			all[name] = text
		}
	}
	return all
}

// in returns the form of an error and its texts. The form is empty if there is none, if a part of
// the error panics, or if the error has several causes.
func (f forms) in(err error) (form string, with map[string]string) {
	defer func() {
		if recover() != nil {
			form, with = "", nil
		}
	}()
	switch one := err.(type) {
	case *formed:
		return one.form, one.with
	case interface{ Unwrap() []error }:
		return "", nil
	}
	if form = f.nameOf[reflect.TypeOf(err)]; form != "" {
		if with = f.byName[form].Split(err); with != nil {
			return form, with
		}
	}
	for _, form := range f.others {
		if with = f.byName[form].Split(err); with != nil {
			return form, with
		}
	}
	return "", nil
}

// formedError rebuilds an error of a form. The result has the original type if that reproduces all
// that was recorded; otherwise it is a formed.
func (n *errorNode) formedError() error {
	s := n.d.Sentinels
	today := s.forms.built(n.form, n.with, n.cause)
	if today != nil && textOf(today) == n.text && sameError(unwrap(today), n.cause) && slices.Equal(s.claimedBy(today), n.is) {
		return today
	}
	return &formed{wrapped{n.text, n.claims(), n.cause}, n.form, n.with, today}
}

// built builds an error of a form. It returns nil if that fails or if the result would not split
// into the same texts again.
func (f forms) built(form string, with map[string]string, cause error) (today error) {
	of, known := f.byName[form]
	if !known {
		return nil
	}
	defer func() {
		if recover() != nil {
			today = nil
		}
	}()
	if today = of.Build(with, cause); today == nil || isNil(today) {
		return nil
	}
	_ = today.Error() // which may panic if it needs a part that was not kept
	again := of.Split(today)
	for name, text := range with {
		if again[name] != text {
			return nil
		}
	}
	return today
}

// readWith reads the texts of an error with a form.
func readWith(raw []byte) (with map[string]string, err error) {
	members, err := ScanMembers(nil, raw)
	if err != nil {
		return nil, err
	}
	with = map[string]string{}
	for _, m := range members {
		if with[string(m.Name)], err = TextOfJSON(m.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
	}
	return with, nil
}
