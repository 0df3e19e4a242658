// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that enter the access point from the wire. The medium learns of each before bridge, router and netfilter see it:
 * the record's latencies begin there.
 *
 * A tap of the wire's interface, as that of a packet socket, but without a copy that the packet would share its data
 * with, and without waking anybody: the medium reads the events with those of the next frames.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>

#include "radio.h"

#define LAB_WIRE "wire"	/* the access point's end (lab/guest/init.sh) */

static int lab_on_entry(struct sk_buff *skb, struct net_device *dev, struct packet_type *type,
			struct net_device *original)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		struct lab_event event = { .kind = LAB_ENTRY };

		event.at = ktime_get_ns();
		event.waited = skb->len;
		event.length = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0;
		skb_copy_bits(skb, 0, event.head, min_t(unsigned int, skb->len, LAB_HEAD));
		lab_channel_note(&event);
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type lab_tap = {
	.type = htons(ETH_P_ALL),
	.func = lab_on_entry,
	.ignore_outgoing = true,
};

static int lab_on_device(struct notifier_block *block, unsigned long what, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (what == NETDEV_UP && !lab_tap.dev && net_eq(dev_net(dev), &init_net) && !strcmp(dev->name, LAB_WIRE)) {
		lab_tap.dev = dev;
		dev_add_pack(&lab_tap);
	} else if (what == NETDEV_GOING_DOWN && lab_tap.dev == dev) {
		dev_remove_pack(&lab_tap);
		lab_tap.dev = NULL;
	}
	return NOTIFY_DONE;
}

static struct notifier_block lab_devices = { .notifier_call = lab_on_device };

int lab_entry_register(void)
{
	return register_netdevice_notifier(&lab_devices);
}

void lab_entry_unregister(void)
{
	/* Ends with a NETDEV_GOING_DOWN for each device that is up. */
	unregister_netdevice_notifier(&lab_devices);
}
