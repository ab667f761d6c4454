// Package blob keeps the bodies of artifacts in an object store: S3, Google Cloud Storage, Azure, a
// directory or memory, whatever the library of that name opens. It is a module of its own, so that
// other users do not have the cloud libraries in their go.sum.
//
//  1. Open a bucket, by a URL such as s3://my-bucket?region=eu-north-1 or by its driver.
//  2. [NewSpool] makes a [Spool] from it, as package artifact defines one. A body is written
//     as a whole or not at all, read by ranges, and never changed; fakes.TestSpool checks it.
//  3. artifact.Spooling around a storage keeps the bodies of its records there.
package blob
