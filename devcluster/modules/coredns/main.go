// Command coredns is the upstream server with the few plugins that a cluster's names need: without
// the clients of every cloud that its own command has, it is built in a minute. It caches nothing,
// so that a test finds a Service as soon as it is made.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order in which plugins see a query, as upstream's plugin.cfg has it.
func init() { dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes"} }

func main() { coremain.Run() }
