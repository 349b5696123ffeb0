/**
 * Words of nft(8) that it does not read as the name of an interface, user or group: those that nft 1.1.0 rejects in the
 * place of one.
 */
export const nftKeywords: ReadonlySet<string> = new Set(
  `accept add ah all and auto-merge bridge cgroup chain comment comp constant continue counter cpu create ct day
   dccp define delete describe device devices drop dst dup dynamic element elements esp exists expires export
   exthdr fib flags flow flowtable flush frag fwd gc-interval get goto handle hbh hook hour ibriport ibrname icmp
   icmpv6 igmp iif iifgroup iifname iiftype import include index inet insert interval ipsec jhash jump limit list
   log lt map mark masquerade meta meter mh missing monitor netdev nftrace not notrack numgen obriport obrname
   offload oif oifgroup oifname oiftype or osf pkttype policy position priority queue quota random redefine
   redirect reject rename replace return rt rt0 rt2 rtclassid rule ruleset sctp secmark set size skgid skuid socket
   srh symhash synproxy table tcp th time timeout tproxy type typeof udp udplite undefine update vmap xt`.split(/\s+/),
);
