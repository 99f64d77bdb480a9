package engine

import (
	"fmt"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Bounds of a device of own numbers.
const (
	maxDeviceSide  = 8192 // as for the window
	maxDeviceScale = 5
	minDeviceScale = 0.5
)

var deviceSchema = fmt.Sprintf(`{"anyOf":[{"type":"string","minLength":1},{"type":"object","required":["width","height"],"additionalProperties":false,"properties":{`+
	`"width":{"type":"integer","minimum":1,"maximum":%[1]d},"height":{"type":"integer","minimum":1,"maximum":%[1]d},"scale":{"type":"number","minimum":%[2]v,"maximum":%[3]v,"default":1},`+
	`"mobile":{"type":"boolean","default":false},"touch":{"type":"boolean","default":false}}}]}`, maxDeviceSide, minDeviceScale, maxDeviceScale)

// readDevice reads the name of a preset, or own numbers.
func (d *decoder) readDevice(n *lang.Node) *browser.Device {
	if n.IsString() {
		if preset, ok := browser.Devices()[strings.ToLower(n.Text)]; ok {
			return &preset
		}
		d.Fault(n, "there is no device %q: want a name such as %q, or {\"width\":390,\"height\":844}%s", lang.Short(n.Text, 100), "iPhone 15", d.DidYouMean(n.Text, deviceNames))
		return nil
	}
	side := lang.IntShape("a number of pixels", 1, maxDeviceSide)
	own := &browser.Device{Scale: 1}
	if !d.ReadObject(n, "the name of a device, or its numbers",
		lang.Field("width", func(f *lang.Node) { own.Width = side.Read(&d.Decoder, f) }),
		lang.Field("height", func(f *lang.Node) { own.Height = side.Read(&d.Decoder, f) }),
		lang.Field("scale", func(f *lang.Node) {
			own.Scale = lang.NumberShape("the device pixels for each pixel of the page", minDeviceScale, maxDeviceScale).Read(&d.Decoder, f)
		}),
		lang.Field("mobile", func(f *lang.Node) { own.Mobile = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("touch", func(f *lang.Node) { own.Touch = lang.BoolShape.Read(&d.Decoder, f) }),
	) {
		return nil
	}
	for _, name := range []string{"width", "height"} {
		if f := n.Field(name); f == nil || f.IsNull() {
			d.Fault(n, "a device of your own needs %s, a number of pixels", name)
		}
	}
	return own
}

func deviceNames() (names []string) {
	for _, d := range browser.Devices() {
		names = append(names, d.Name)
	}
	return names
}
