package blob_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"gocloud.dev/blob/memblob"

	adkblob "github.com/adkreplay/adkreplay/adk/storage/blob"
)

// A bucket in memory keeps a body. In production it is opened by its URL, and
// artifact.Spooling writes to it.
func ExampleNewSpool() {
	ctx := context.Background()
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	spool := adkblob.NewSpool(bucket)

	entry, err := spool.Write(ctx, "ada/report.md", strings.NewReader("# Report\nAll is well.\n"))
	if err != nil {
		log.Fatal(err)
	}
	reader, _, err := spool.Read(ctx, "ada/report.md")
	if err != nil {
		log.Fatal(err)
	}
	stream, err := reader.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	body, _ := io.ReadAll(stream)
	fmt.Printf("%d lines, %q…\n", entry.Lines, body[:8])
	// Output: 3 lines, "# Report"…
}
