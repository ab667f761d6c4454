package redacting_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Each of the usual secrets is found in a text, with its kind and without its surroundings; texts that only
// look like one are kept. The secrets are assembled from parts here, so that no scanner takes this file
// for a leak.
func TestUsualSecrets(t *testing.T) {
	alnum := strings.Repeat("aB3", 20)
	dashes := "-----"
	for _, c := range []struct{ kind, secret, miss string }{
		{"api-key", "sk-" + alnum[:48], "sk-learn is a library"},
		{"api-key", "sk-ant-api03-" + alnum[:40], "task-" + alnum[:30]},
		{"api-key", "sk-proj-" + alnum[:24] + "_" + alnum[:20], "sk-" + alnum[:12]},
		{"aws-key", "AKIA" + "IOSFODNN7EXAMPLE", "AKIA IOSFODNN7"},
		{"aws-key", "ASIA" + strings.ToUpper(alnum[:16]), "ASIAN" + strings.ToUpper(alnum[:30])},
		{"github-token", "ghp_" + alnum[:36], "ghp_" + alnum[:20]},
		{"github-token", "github_pat_" + alnum[:22] + "_" + alnum[:30], "github_pattern_of_a_repository"},
		{"gitlab-token", "glpat-" + alnum[:20], "glpat-short"},
		{"slack-token", "xoxb-" + "123456789012-" + alnum[:24], "xoxo-kisses"},
		{"google-key", "AIza" + alnum[:35], "AIzawa"},
		{"stripe-key", "sk_" + "live_" + alnum[:24], "sk_live_music"},
		{"huggingface-token", "hf_" + alnum[:34], "hf_hub_download"},
		{"npm-token", "npm_" + alnum[:36], "npm_config_registry"},
		{"jwt", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + alnum[:43], "eyJhbGciOiJIUzI1NiJ9 alone"},
		{"bearer", "Bearer " + alnum[:24], "a bearer of good news"},
		{"bearer", "authorization: " + "Basic " + alnum[:20] + "==", "basic knowledge"},
		{"url-password", "postgres://bob:" + "s3cr3t-pw@", "https://example.com/a:b@c"},
		{"assignment", "password=" + "correcthorse", "the password is wrong"},
		{"assignment", `"api_key": "` + alnum[:12], "api_key: ''"},
		{"url-password", "redis://:" + "s3cr3t-pw@", "http://localhost:8080/a@b"},
		{"assignment", "password=" + "abcd", "passwordless=true, password_reset=true, reset_password=true, max_tokens=4096, tokens=12345"},
		{"assignment", "_PASSWORD=" + "abcd", `"has_password": false, password_hash_rounds=10000`},
		{"assignment", "_API_KEY=" + alnum[:12], "SORT_KEY=created, AWS_DEFAULT_REGION=eu-north-1"},
		{"assignment", "_TOKEN=" + alnum[:12], "next_page_token=" + alnum[:12] + ", MAX_TOKENS=40960"},
		{"assignment", "PGPASSWORD=" + "abcd", "PGPASSFILE=/etc/pgpass"},
		{"assignment", "_password: " + "abcdef", "a_password: none"},
		{"assignment", "--token=" + alnum[:12], "--tokens=40960 --token-file=/run/x"},
		{"assignment", "--auth-token=" + alnum[:12], "--sort-key=created"},
		{"private-key", dashes + "BEGIN EC PRIVATE KEY" + dashes + "\nProc-Type: 4,ENCRYPTED\n\n" + alnum + "\n" + dashes + "END EC PRIVATE KEY" + dashes, "private key"},
		{"private-key", dashes + "BEGIN RSA PRIVATE KEY" + dashes + "\n" + alnum + "\n" + dashes + "END RSA PRIVATE KEY" + dashes, dashes + "BEGIN CERTIFICATE" + dashes + alnum},
	} {
		r := redacting.NewRedactor(mustRules(t, redact.UsualSecrets()))
		got := r.Text("before " + c.secret + ", after")
		assert.Regexp(t, `^before (authorization: |")?\[redacted:`+c.kind+`:1\].*after$`, got, c.secret)
		assert.Equal(t, 1, r.Count, c.secret)
		assert.Equal(t, "before "+c.miss+", after", r.Text("before "+c.miss+", after"))
	}
	cut := "a key: " + dashes + "BEGIN OPENSSH PRIVATE KEY" + dashes + "\n" + alnum
	assert.Equal(t, "a key: [redacted:private-key:1]", redacting.NewRedactor(mustRules(t, redact.UsualSecrets())).Text(cut), "its end is missing")
}

// The input and output of commands may contain the usual secrets too, after the names of variables.
func TestUsualSecretsOfCommands(t *testing.T) {
	for text, want := range map[string]string{
		"DB_" + "PASSWORD=s3cr3t\nX=1":                                          "DB[redacted:assignment:1]\nX=1",
		"OPENAI_" + "API_KEY='s3cr3t' psql":                                     "OPENAI[redacted:assignment:1]' psql",
		"--cache redis://:" + "s3cr3t@cache:6379/0 --root-password=" + "s3cr3t": "--cache [redacted:url-password:1]cache:6379/0 --root[redacted:assignment:2]",
	} {
		assert.Equal(t, want, redacting.NewRedactor(mustRules(t, redact.UsualSecrets())).Text(text))
	}
}

func TestUsualPaths(t *testing.T) {
	r := redacting.NewRedactor(mustRules(t, redact.UsualSecrets()))
	line := `{"kind":"report-log","payload":{"headers":{"Authorization":"x","Cookie":["a","b"],"Accept":"json"},"login":{"user":"ann","Password":5,"passwords":"two"}}}`
	got, err := r.Line([]byte(line), false)
	assert.NoError(t, err)
	assert.Equal(t, `{"kind":"report-log","payload":{"headers":{"Authorization":"[redacted:authorization:1]","Cookie":["[redacted:cookie:2]","[redacted:cookie:3]"],"Accept":"json"},`+
		`"login":{"user":"ann","Password":0,"passwords":"two"}}}`, string(got))
}

// WLD-7: a value that redact.UsualSecrets finds by its name in a body is left out of headers and queries too,
// whatever its spelling, because a secret may be sent in any of these places.
func TestUsualPathsAreSecretsOverHTTP(t *testing.T) {
	for _, path := range redact.UsualSecrets().Paths {
		if path == "session.auth" { // part of a turn
			continue
		}
		assert.True(t, httpform.IsSecretHeader(path), path)
		assert.True(t, httpform.IsSecretParameter(path) || strings.Contains(path, "cookie"), path)
	}
	for _, name := range []string{"sessionToken", "session_token", "authToken", "subscriptionKey"} {
		assert.Contains(t, redact.UsualSecrets().Paths, name)
	}
}

// Redacting takes linear time, even for a stream that is made to begin secrets again and again: no matcher
// reads a character more than a few times.
func TestRedactingIsLinear(t *testing.T) {
	for _, hostile := range []string{"sk-", "-----BEGIN ", "eyJaaaaaaaa.", "password=", "_PASSWORD=", "a_", "--a-", "a://b:", "a://:", "Bearer ", "aaaa"} {
		s := redacting.NewRedactStream(redacting.NewRedactor(mustRules(t, redact.UsualSecrets())))
		for range 500 {
			s.Add(strings.Repeat(hostile, 5), false)
		}
		s.End()
		for _, m := range s.Matchers {
			assert.Less(t, m.Step, 4*s.Text.Len()+10, "%s in %q", m.P.Kind, hostile)
		}
	}
}
