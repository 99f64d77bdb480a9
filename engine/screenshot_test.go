package engine

import (
	"fmt"
	"testing"
)

func TestAPictureOfLowerQualityIsSmaller(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/p.html": []byte(`<!doctype html><div style="width:400px;height:300px;background:repeating-conic-gradient(red 0 5deg,blue 5deg 13deg,lime 13deg 20deg)">text text text</div>`)}}
	base, _ := s.server(t)
	for _, format := range []string{"jpeg", "webp"} {
		size := map[int]int{}
		for _, quality := range []int{5, 95} {
			got, k := answer(t, fmt.Sprintf(`{"actions":[{"open":"%s/p.html"},{"screenshot":"div","options":{"format":%q,"quality":%d}}]}`, base, format, quality), given{})
			if got["failures"] != nil {
				t.Fatal(got)
			}
			size[quality] = len(k.files[k.last])
		}
		if size[5] == 0 || size[5]*2 > size[95] {
			t.Errorf("%s: %d bytes at quality 5, %d at 95", format, size[5], size[95])
		}
	}
}
