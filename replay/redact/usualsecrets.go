package redact

// UsualSecrets returns rules for common secrets: keys of the big providers, tokens, private keys,
// fields that hold passwords, and the identities in the turn of a session (SES-31). The rules
// belong to the caller, who can add the secrets of their own systems.
func UsualSecrets() *Rules {
	return &Rules{
		Paths: []string{
			"password", "passwd", "passphrase", "secret", "client_secret", "clientSecret",
			"api_key", "apiKey", "api-key", "x-api-key",
			"authorization", "proxy-authorization", "cookie", "set-cookie",
			"access_token", "accessToken", "refresh_token", "refreshToken", "id_token", "idToken",
			"session_token", "sessionToken", "auth_token", "authToken",
			"private_key", "privateKey", "subscription_key", "subscriptionKey", "subscription-key",
			"session.auth",
		},
		Patterns: []Pattern{
			// A key without an end reaches to the end of the text.
			{"private-key", `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)`},
			{"jwt", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`},
			{"aws-key", `\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`},
			{"github-token", `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`},
			{"gitlab-token", `\bglpat-[A-Za-z0-9_-]{20,}`},
			{"slack-token", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`},
			{"google-key", `\bAIza[A-Za-z0-9_-]{35}`},
			{"stripe-key", `\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`},
			{"api-key", `\bsk-[A-Za-z0-9_-]{20,}`},
			{"huggingface-token", `\bhf_[A-Za-z0-9]{30,}`},
			{"npm-token", `\bnpm_[A-Za-z0-9]{36}`},
			{"bearer", `(?i)\b(?:bearer|basic) +[A-Za-z0-9._~+/-]{16,}=*`},
			{"url-password", `[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@`},
			{"assignment", `(?i:\b(?:password|passwd|passphrase|client_?secret|api_?key|access_?token)["']?[ \t]{0,3}[=:][ \t]{0,3}["']?[^\s"',;&]{4,})` +
				// After another word, at least six characters, since "has_password": false is no
				// secret.
				`|(?i:[_-](?:password|passwd|passphrase|client_?secret|api_?key|access_?token)["']?[ \t]{0,3}[=:][ \t]{0,3}["']?[^\s"',;&]{6,})` +
				// Environment variables, and options of commands.
				`|(?:_(?:PASSWORD|PASSWD|PASS|PWD|PASSPHRASE|SECRET|TOKEN|(?:API|SECRET|ACCESS|PRIVATE)_?KEY)|\bPGPASSWORD|\bREDISCLI_AUTH)=["']?[^\s"',;&]{4,}` +
				`|--(?:[a-z]{1,20}-)?(?:token|secret|api-key)=["']?[^\s"',;&]{4,}`},
		},
	}
}
