package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// readProperty reads a property in the page's own world, as JSON.
var readProperty = `function(path){const asJSON=` + asJSON + `;let v=this;for(let i=0;i<path.length;i++)v=v===null||v===undefined?undefined:v[path[i]];` +
	`if(v===undefined||typeof v==='function')return 'null';try{return asJSON(v)??'null'}catch{return asJSON(''+v)}}`

// PageProperty reads a property of the element that the page script has chosen,
// as the page's own scripts see it. An element that is gone has none.
func (ps *PageScript) PageProperty(ctx context.Context, path string) (json.RawMessage, error) {
	null := json.RawMessage("null")
	s, el, err := ps.chosen(ctx)
	if err != nil || el == "" {
		return null, err
	}
	var node dom.DescribeNodeResult
	if err := s.call(ctx, dom.CommandDescribeNode, dom.DescribeNodeParams{ObjectID: el}, &node); err != nil {
		return null, fmt.Errorf("reading a property: %w", err)
	}
	var own dom.ResolveNodeResult // without a world named, it is the page's own
	if err := s.call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: node.Node.BackendNodeID}, &own); err != nil {
		return null, fmt.Errorf("reading a property: %w", err)
	}
	arg, err := json.Marshal(strings.Split(path, "."))
	if err != nil {
		return null, err
	}
	yes := true
	var res struct {
		Result struct {
			Value jsonv2.Value `json:"value"` // a string that holds JSON, or what was thrown
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	call := s.send(runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: readProperty, ObjectID: own.Object.ObjectID, ReturnByValue: &yes,
		Arguments: []*runtime.CallArgument{{Value: jsonv2.Value(arg)}},
	})
	if err := call.wait(ctx, &res); err != nil && res.Exception == nil {
		return null, fmt.Errorf("reading a property: %w", err)
	}
	text, err := call.text(res.Result.Value)
	if res.Exception != nil || err != nil || !json.Valid(text) {
		return null, nil // a getter that throws gives nothing
	}
	return json.RawMessage(text), nil
}
