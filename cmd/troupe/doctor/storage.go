package doctor

import (
	"context"
	"fmt"
)

// ExamineStorage looks whether the bucket is there.
func ExamineStorage(ctx context.Context, s *Storage) []Finding {
	if s == nil {
		return nil
	}
	f := Finding{Check: "storage", Verdict: Good, Found: fmt.Sprintf("the bucket %s at %s answers", s.Bucket, s.Endpoint)}
	if err := s.Open(ctx); err != nil {
		f.Verdict, f.Found = Problem, err.Error()
		f.Advice = "create the bucket, and allow the keys to list, read, write and delete in it"
	}
	return []Finding{f}
}
