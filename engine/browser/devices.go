package browser

import (
	"strings"
	"sync"

	"github.com/chromedp/chromedp/device"
)

// Devices are the presets, by their names in lower case.
var Devices = sync.OnceValue(func() map[string]Device {
	all := map[string]Device{}
	for i := device.Reset + 1; i <= device.MotoG4landscape; i++ {
		d := i.Device()
		all[strings.ToLower(d.Name)] = Device{
			Name: d.Name, Width: int(d.Width), Height: int(d.Height), Scale: d.Scale,
			Mobile: d.Mobile, Touch: d.Touch, Landscape: d.Landscape, UserAgent: d.UserAgent,
		}
	}
	return all
})
