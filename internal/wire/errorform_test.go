package wire_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// theCertificate returns a certificate that nobody has signed.
func theCertificate(t *testing.T) *x509.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "api"}, DNSNames: []string{"api.example"}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tracetest.Must(x509.ParseCertificate(raw))
}

// slow is an error of a type that only this test knows. It says whether it is a timeout.
type slow struct{ is bool }

func (e slow) Error() string   { return "slow" }
func (e slow) Timeout() bool   { return e.is }
func (e slow) Temporary() bool { return e.is }

// WLD-3: errors of the network, of TLS and of certificates are read from a trace as values of their types, with
// the same content.
func TestErrorsKeepTheirTypes(t *testing.T) {
	cert := theCertificate(t)
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1).To4(), Port: 443}, Err: refused},
		&net.OpError{Op: "write", Net: "udp", Source: &net.UDPAddr{IP: net.IPv6loopback, Port: 1}, Addr: &net.UDPAddr{IP: net.IPv6loopback, Port: 2}, Err: syscall.EPIPE},
		&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded},
		refused, syscall.ECONNRESET,
		&net.DNSError{Err: "no such host", Name: "api.example", Server: "10.0.0.2:53", IsNotFound: true},
		&net.DNSError{Err: "i/o timeout", Name: "api.example", IsTimeout: true, IsTemporary: true},
		&net.AddrError{Err: "missing port in address", Addr: "api.example"},
		&url.Error{Op: "Post", URL: "https://api.example/v1", Err: io.ErrUnexpectedEOF},
		&tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{cert, cert}, Err: x509.UnknownAuthorityError{Cert: cert}},
		x509.UnknownAuthorityError{Cert: cert}, x509.UnknownAuthorityError{},
		x509.HostnameError{Certificate: cert, Host: "other.example"},
		x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired, Detail: "it is 2031"},
		x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign},
		x509.SystemRootsError{Err: io.EOF}, x509.ConstraintViolationError{}, x509.UnhandledCriticalExtension{}, x509.InsecureAlgorithmError(x509.MD5WithRSA),
		tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake", RecordHeader: [5]byte{'H', 'T', 'T', 'P', '/'}},
		tls.AlertError(42), &tls.ECHRejectionError{RetryConfigList: []byte{1, 2}},
		&fs.PathError{Op: "open", Path: "/etc/agent", Err: fs.ErrPermission}, &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EACCES},
		&exec.Error{Name: "ffmpeg", Err: exec.ErrNotFound}, &strconv.NumError{Func: "Atoi", Num: "x", Err: strconv.ErrSyntax},
	} {
		read, line := throughTrace(t, err)
		assert.Equal(t, err, read, line)
		wrapped, _ := throughTrace(t, fmt.Errorf("ask: %w", err))
		found := reflect.New(reflect.TypeOf(err))
		require.True(t, errors.As(wrapped, found.Interface()), line)
		assert.Equal(t, err, found.Elem().Interface(), line)
		assert.Contains(t, line, fmt.Sprintf(`"type":%q`, strings.TrimPrefix(fmt.Sprintf("%T", err), "*")))
	}
}

// WLD-3: after a round trip through a trace, the error of a real connection gives the same answers to errors.As
// and errors.Is.
func TestFailuresOfConnectionsKeepTheirTypes(t *testing.T) {
	answers := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	secured, open := httptest.NewUnstartedServer(answers), httptest.NewServer(answers)
	secured.Config.ErrorLog = log.New(io.Discard, "", 0) // hides the server's log of failed handshakes
	secured.StartTLS()
	t.Cleanup(secured.Close)
	t.Cleanup(open.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secured.Certificate())
	dial := func(address string, config *tls.Config) error {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", address, config)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	at := secured.Listener.Addr().String()
	client, err := net.Dial("tcp", open.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	deaf := client.LocalAddr().(*net.TCPAddr) // a client's port, which no other process gets and on which none listens

	unknown, _ := throughTrace(t, dial(at, &tls.Config{}))
	assert.ErrorAs(t, unknown, new(*tls.CertificateVerificationError))
	var authority x509.UnknownAuthorityError
	require.ErrorAs(t, unknown, &authority)
	assert.Equal(t, secured.Certificate().Raw, authority.Cert.Raw)

	host, _ := throughTrace(t, dial(at, &tls.Config{RootCAs: roots, ServerName: "api.other"}))
	var hostname x509.HostnameError
	require.ErrorAs(t, host, &hostname)
	assert.Equal(t, "api.other", hostname.Host)
	assert.Contains(t, hostname.Certificate.DNSNames, "example.com")

	expired, _ := throughTrace(t, dial(at, &tls.Config{RootCAs: roots, ServerName: "example.com", Time: func() time.Time { return time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }}))
	var invalid x509.CertificateInvalidError
	require.ErrorAs(t, expired, &invalid)
	assert.Equal(t, x509.Expired, invalid.Reason)

	plain, _ := throughTrace(t, dial(open.Listener.Addr().String(), &tls.Config{}))
	assert.ErrorAs(t, plain, new(tls.RecordHeaderError))

	refused, _ := throughTrace(t, dial(deaf.String(), &tls.Config{}))
	assert.ErrorIs(t, refused, syscall.ECONNREFUSED)
	var op *net.OpError
	require.ErrorAs(t, refused, &op)
	assert.Equal(t, "dial", op.Op)
	assert.Equal(t, deaf.Port, op.Addr.(*net.TCPAddr).Port)
}

// WLD-3: an error of a type that only its own program knows still says whether it is a
// timeout.
func TestTimeoutsStayTimeouts(t *testing.T) {
	for _, ok := range []bool{true, false} {
		read, line := throughTrace(t, fmt.Errorf("ask: %w", slow{ok}))
		var timeout net.Error
		require.ErrorAs(t, read, &timeout)
		assert.Equal(t, ok, timeout.Timeout())
		assert.Contains(t, line, fmt.Sprintf(`{"text":"slow","timeout":%t}`, ok))
		op, _ := throughTrace(t, &net.OpError{Op: "read", Net: "tcp", Err: slow{ok}})
		require.ErrorAs(t, op, &timeout)
		assert.Equal(t, ok, timeout.Timeout())
	}
}

// If today's code can no longer make the value of an error's type, the error has its text, its causes and, where
// possible, its type.
func TestAnErrorThatIsMadeOtherwiseToday(t *testing.T) {
	node := func(err string) string { return `{"kind":"return","outcome":"error","err":` + err + `}` }
	read := func(err string) error {
		data := tracetest.Seal([]string{tracetest.HeaderLine, node(err)}, "")
		one := tracetest.ReadTrace(t, data)
		tracetest.RequireSameAgain(t, one, data)
		return one.Lines()[0].Err
	}
	other := read(`{"text":"could not dial","type":"net.OpError","with":{"net":"tcp","op":"dial"},"cause":{"sentinel":"io.EOF"}}`)
	assert.EqualError(t, other, "could not dial")
	assert.ErrorIs(t, other, io.EOF)
	var op *net.OpError
	require.ErrorAs(t, other, &op)
	assert.Equal(t, "dial", op.Op)
	for _, unmade := range []string{
		`{"text":"x","type":"tls.AlertError","with":{"alert":"256"}}`,
		`{"text":"x","type":"tls.CertificateVerificationError","with":{"certificates":"AAAA"},"cause":{"sentinel":"io.EOF"}}`,
		`{"text":"x","type":"x509.HostnameError","with":{"host":"a"}}`,
		`{"text":"x","type":"net.DNSError","with":{"timeout":"true"}}`,
		`{"text":"x","type":"syscall.Errno","with":{"name":"EOTHER"}}`,
	} {
		err := read(unmade)
		assert.EqualError(t, err, "x")
		assert.Equal(t, strings.Contains(unmade, "io.EOF"), errors.Is(err, io.EOF), unmade)
	}
	nobodys := read(`{"text":"x","type":"net.Other","with":{"a":"b"},"cause":{"sentinel":"io.EOF"}}`)
	assert.EqualError(t, nobodys, "x", "a type that a program of its own has named")
	assert.ErrorIs(t, nobodys, io.EOF)
}

// Before version 4 of the format, errors have no types. Types are not written, not read, and not compared
// if one side has such a version.
func TestBeforeVersion4ErrorsHaveNoTypes(t *testing.T) {
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeError,
		Err: &net.OpError{Op: "dial", Net: "tcp", Err: slow{true}}}))
	read.Version = 3
	var former strings.Builder
	_, err := read.WriteTo(&former)
	require.NoError(t, err)
	assert.Contains(t, former.String(), `"err":{"text":"dial tcp: slow","cause":{"text":"slow"}}}`)
	_, err = trace.Read(strings.NewReader(former.String()))
	require.NoError(t, err)
	line := strings.Replace(former.String(), `{"text":"slow"}`, `{"text":"slow","timeout":true}`, 1)
	assert.Contains(t, tracetest.ReadError(t, []byte(line)).Reason, "timeout: is no member of an error")
}

// WLD-7: the fields of an error with a type are redacted as its text is.
func TestErrorsOfTypesAreRedacted(t *testing.T) {
	recorded := tracetest.ReadTrace(t, tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindCall, At: tracetest.TestStart, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
		adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, At: tracetest.TestStart, Call: 1, Op: 1, Name: "x"},
		adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, At: tracetest.TestStart, Call: 1, Op: 1, Err: &url.Error{Op: "Get", URL: "https://x/?q=hush", Err: io.EOF}}))
	data := tracetest.Redacted(t, recorded, redact.Rules{Patterns: []redact.Pattern{{Kind: "word", Expr: "hush"}}})
	assert.NotContains(t, string(data), "hush")
	var refused *url.Error
	require.ErrorAs(t, tracetest.ReadTrace(t, data).Lines()[2].Err, &refused)
	assert.Equal(t, "https://x/?q=[redacted:word:1]", refused.URL)
}
