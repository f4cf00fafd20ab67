package drill

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const bucket = "drill"

// startGateway starts an S3 client of the cluster's gateway, and the exporter that
// reads its ops log. It returns the flags of that exporter.
func (d *drill) startGateway() []string {
	access, secret, err := d.c.CreateS3User(d.ctx, "drill")
	d.must(err)
	d.s3, err = minio.NewCore(strings.TrimPrefix(d.c.RGWEndpoint(0), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""), Region: "default", BucketLookup: minio.BucketLookupPath,
	})
	d.must(err)
	d.must(d.s3.MakeBucket(d.ctx, bucket, minio.MakeBucketOptions{}))
	d.must(d.put(d.ctx, 1)) // a gateway makes its log with the first request
	return []string{
		"--no-collector.pg", "--no-collector.forecast", "--no-collector.osd", "--collector.daemon", "--collector.bluestore", "--path.rootfs=/",
		"--collector.rgw", "--collector.rgw.interval=2s", "--rgw.view=complete", "--rgw.abandoned-after=20s",
		"--rgw.ops-log=" + filepath.Join(filepath.Dir(d.c.OpsLogPath(0)), "ops-log-*.log"),
	}
}

// put uploads n objects.
func (d *drill) put(ctx context.Context, n int) error {
	for range n {
		d.objects++
		if _, err := d.s3.PutObject(ctx, bucket, fmt.Sprintf("object-%d", d.objects), bytes.NewReader(make([]byte, 4096)), 4096, "", "", minio.PutObjectOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// openUploads returns the multipart uploads that the gateway lists.
func (d *drill) openUploads() []minio.ObjectMultipartInfo {
	d.Helper()
	list, err := d.s3.ListMultipartUploads(d.ctx, bucket, "", "", "", "", 1000)
	d.must(err)
	return list.Uploads
}

// uploadsLeft: of ten uploads five are aborted, and five nobody ends.
func uploadsLeft() fault {
	return fault{
		name: "ten multipart uploads begun: five aborted, five left open",
		inject: func(d *drill) {
			for i := range 10 {
				name := fmt.Sprintf("large-%d", i)
				id, err := d.s3.NewMultipartUpload(d.ctx, bucket, name, minio.PutObjectOptions{})
				d.must(err)
				_, err = d.s3.PutObjectPart(d.ctx, bucket, name, id, 1, bytes.NewReader(make([]byte, 4096)), 4096, minio.PutObjectPartOptions{})
				d.must(err)
				if i%2 == 1 {
					d.must(d.s3.AbortMultipartUpload(d.ctx, bucket, name, id))
				}
			}
		},
		pages: func(*drill) []page {
			return []page{{"CephRiskUploadsAbandoned", "info", nil, func(d *drill) string {
				return fmt.Sprintf("%d multipart uploads are abandoned in cluster drill", len(d.openUploads()))
			}, ""}}
		},
		repair: func(d *drill) {
			for _, u := range d.openUploads() {
				d.must(d.s3.AbortMultipartUpload(d.ctx, bucket, u.Key, u.UploadID))
			}
		},
	}
}

// opsLogJunk: something else writes into the log of the gateway.
func opsLogJunk() fault {
	return fault{
		name: "ops log turned to junk, six times between uploads",
		inject: func(d *drill) {
			for range 6 {
				log, err := os.OpenFile(d.c.OpsLogPath(0), os.O_APPEND|os.O_WRONLY, 0)
				d.must(err)
				_, err = log.WriteString("\x00\x00{{{ this is no record \xff" + strings.Repeat("#", 200) + "\n")
				d.must(err)
				d.must(log.Close())
				d.must(d.put(d.ctx, 3))
				d.pause(time.Second)
			}
		},
		pages: func(d *drill) []page {
			at := instance(d.host)
			return []page{{"CephRiskOpsLogLosesRecords", "warning", map[string]string{"instance": at},
				says("The ops log read by " + at + " loses records in cluster drill"), "a part of the ops log on " + at + " was torn"}}
		},
		repair: func(*drill) {},
	}
}

// pause lets time pass that a fault takes.
func (d *drill) pause(length time.Duration) {
	select {
	case <-d.ctx.Done():
	case <-time.After(length):
	}
}
