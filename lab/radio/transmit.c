// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of a frame: from mac80211's queues through the medium to the receivers, and its status.
 *
 * A radio takes at most `depth` frames of a category at a time. The others stay in mac80211's queues of each station
 * (FQ-CoDel), which schedule and drop them. mac80211's airtime queue limit usually stops the radio earlier.
 */
#include <linux/etherdevice.h>
#include <net/codel.h>
#include <net/dst.h>

#include "radio.h"

/* Most frames of a category in a radio: a constant for stations, a parameter for the access point. */
#define LAB_STATION_DEPTH 512
unsigned int lab_depth = 512;
/* Whether the access point charges the airtime of received frames to their station. */
bool lab_charge_received;
/* Rate of all data to and from a radio, in place of rate control's; -1: rate control. */
int lab_fixed[LAB_MOST_RADIOS] = { [0 ... LAB_MOST_RADIOS - 1] = -1 };

static u8 lab_rate_flags(u16 flags)
{
	u8 out = 0;

	if (flags & IEEE80211_TX_RC_MCS)
		out |= LAB_RATE_HT;
	if (flags & IEEE80211_TX_RC_VHT_MCS)
		out |= LAB_RATE_VHT;
	if (flags & IEEE80211_TX_RC_SHORT_GI)
		out |= LAB_RATE_SHORT;
	if (flags & IEEE80211_TX_RC_40_MHZ_WIDTH)
		out |= LAB_RATE_40;
	if (flags & IEEE80211_TX_RC_80_MHZ_WIDTH)
		out |= LAB_RATE_80;
	if (flags & IEEE80211_TX_RC_USE_RTS_CTS)
		out |= LAB_RATE_RTS;
	return out;
}

static u16 lab_kernel_flags(u8 flags)
{
	u16 out = 0;

	if (flags & LAB_RATE_HT)
		out |= IEEE80211_TX_RC_MCS;
	if (flags & LAB_RATE_VHT)
		out |= IEEE80211_TX_RC_VHT_MCS;
	if (flags & LAB_RATE_SHORT)
		out |= IEEE80211_TX_RC_SHORT_GI;
	if (flags & LAB_RATE_40)
		out |= IEEE80211_TX_RC_40_MHZ_WIDTH;
	if (flags & LAB_RATE_80)
		out |= IEEE80211_TX_RC_80_MHZ_WIDTH;
	if (flags & LAB_RATE_RTS)
		out |= IEEE80211_TX_RC_USE_RTS_CTS;
	return out;
}

/* Sets the station's current rate table, or the fixed rate, in place of the rates chosen when the frame was queued. */
static void lab_choose_rates(struct lab_radio *radio, struct sk_buff *skb, struct ieee80211_sta *sta)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct ieee80211_hdr *hdr = (void *)skb->data;
	unsigned int peer;
	int fixed;

	if (info->control.vif)
		ieee80211_get_tx_rates(info->control.vif, sta, skb, info->control.rates, LAB_RATES);
	if (!ieee80211_is_data_qos(hdr->frame_control) || is_multicast_ether_addr(hdr->addr1))
		return;
	peer = radio->index ? radio->index : hdr->addr1[4];
	fixed = peer < LAB_MOST_RADIOS ? lab_fixed[peer] : -1;
	if (fixed < 0)
		return;
	info->control.rates[0].idx = fixed & 0xff;
	info->control.rates[0].flags = lab_kernel_flags(fixed >> 8);
	info->control.rates[0].count = radio->hw->max_rate_tries;
	info->control.rates[1].idx = -1;
	/* Nothing is probed: a probe of rate control, which goes on beside, would travel alone at the same rate. */
	info->flags &= ~IEEE80211_TX_CTL_RATE_CTRL_PROBE;
}

/* A free slot among the held frames; called with the lock. */
static int lab_free_slot(struct lab_radio *radio)
{
	unsigned int tried;

	for (tried = 0; tried < LAB_SLOTS; tried++) {
		u16 slot = radio->next_slot++ & (LAB_SLOTS - 1);

		if (!radio->held[slot])
			return slot;
	}
	return -1;
}

/* Passes a frame to the medium; drops it if the event cannot be queued. */
void lab_transmit(struct lab_radio *radio, struct sk_buff *skb, struct ieee80211_sta *sta, u8 flags)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct lab_event event = { .kind = LAB_FRAME, .radio = radio->index };
	int slot, step;

	if (info->control.enqueue_time)
		event.waited = codel_get_time() - info->control.enqueue_time;
	lab_choose_rates(radio, skb, sta);
	event.category = skb_get_queue_mapping(skb) & 3;
	event.flags = flags;
	if (info->flags & IEEE80211_TX_CTL_AMPDU)
		event.flags |= LAB_FRAME_AMPDU;
	if (info->flags & IEEE80211_TX_CTL_NO_ACK)
		event.flags |= LAB_FRAME_NOACK;
	if (info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE)
		event.flags |= LAB_FRAME_PROBE;
	event.most_tries = lab_most_tries(radio, sta, skb);
	event.at = ktime_get_ns();
	event.length = skb->len + FCS_LEN;
	for (step = 0; step < LAB_RATES; step++) {
		event.rates[step].index = info->control.rates[step].idx;
		event.rates[step].tries = info->control.rates[step].count;
		event.rates[step].flags = lab_rate_flags(info->control.rates[step].flags);
		if (event.rates[step].index < 0)
			break;
	}
	for (; step < LAB_RATES; step++)
		event.rates[step].index = -1;
	skb_copy_bits(skb, 0, event.head, min_t(unsigned int, skb->len, LAB_HEAD));

	spin_lock_bh(&radio->lock);
	slot = lab_free_slot(radio);
	if (slot >= 0) {
		event.cookie = slot;
		if (lab_channel_push(&event)) {
			radio->held[slot] = skb;
			radio->in_flight[event.category]++;
			skb = NULL;
		}
	}
	spin_unlock_bh(&radio->lock);
	if (skb)
		ieee80211_free_txskb(radio->hw, skb);
}

/* Dequeues frames from mac80211 while the radio has room. */
void lab_pump(struct lab_radio *radio)
{
	unsigned int depth = radio->index ? LAB_STATION_DEPTH : READ_ONCE(lab_depth);
	struct ieee80211_hw *hw = radio->hw;
	struct ieee80211_txq *txq;
	struct sk_buff *skb;
	int category;

	spin_lock_bh(&radio->pump_lock);
	rcu_read_lock();
	for (category = 0; category < IEEE80211_NUM_ACS; category++) {
		if (READ_ONCE(radio->in_flight[category]) >= depth)
			continue;
		ieee80211_txq_schedule_start(hw, category);
		while ((txq = ieee80211_next_txq(hw, category))) {
			while (READ_ONCE(radio->in_flight[category]) < depth &&
			       (skb = ieee80211_tx_dequeue(hw, txq)))
				lab_transmit(radio, skb, txq->sta, 0);
			ieee80211_return_txq(hw, txq, false);
		}
		ieee80211_txq_schedule_end(hw, category);
	}
	rcu_read_unlock();
	spin_unlock_bh(&radio->pump_lock);
}

void lab_wake_tx_queue(struct ieee80211_hw *hw, struct ieee80211_txq *txq)
{
	lab_pump(hw->priv);
}

/* Management and control frames, which mac80211 does not queue. */
void lab_tx(struct ieee80211_hw *hw, struct ieee80211_tx_control *control, struct sk_buff *skb)
{
	lab_transmit(hw->priv, skb, control ? control->sta : NULL, 0);
}

static struct lab_radio *lab_radio_of(const struct lab_command *command)
{
	return command->radio < lab_radio_count ? lab_radios[command->radio] : NULL;
}

/* Delivers a copy of a frame to a receiver. */
static void lab_receive(struct lab_radio *receiver, const struct sk_buff *frame, const struct lab_command *command,
			enum nl80211_band band, u16 frequency)
{
	struct ieee80211_rx_status *status;
	struct sk_buff *skb = skb_copy_expand(frame, 64, 0, GFP_ATOMIC);
	const struct lab_rate *rate = &command->rates[0];

	if (!skb)
		return;
	skb_orphan(skb);
	skb->dev = NULL;
	skb_dst_drop(skb);
	skb->mark = 0;
	skb->priority = 0;
	/* For a bridge, which forwards packets of other hosts; receivers check the address again. */
	skb->pkt_type = PACKET_HOST;
	skb_ext_reset(skb);
	nf_reset_ct(skb);
	skb->ip_summed = CHECKSUM_NONE;
	status = IEEE80211_SKB_RXCB(skb);
	memset(status, 0, sizeof(*status));
	status->freq = frequency;
	status->band = band;
	status->signal = command->signal;
	/* The frame is delivered as it ends. */
	status->mactime = ktime_to_us(ktime_get());
	status->flag |= RX_FLAG_MACTIME_END;
	if (command->ampdu) {
		/* As ath9k_apply_ampdu_details (ath9k/recv.c), but for the last MPDU, which may be lost. */
		status->flag |= RX_FLAG_AMPDU_DETAILS;
		status->ampdu_reference = command->ampdu;
	}
	if (rate->flags & LAB_RATE_HT) {
		status->encoding = RX_ENC_HT;
		status->rate_idx = rate->index;
	} else if (rate->flags & LAB_RATE_VHT) {
		status->encoding = RX_ENC_VHT;
		status->rate_idx = rate->index & 15;
		status->nss = (rate->index >> 4) + 1;
	} else {
		status->rate_idx = rate->index < 0 ? 0 : rate->index;
	}
	if (rate->flags & LAB_RATE_SHORT)
		status->enc_flags |= RX_ENC_FLAG_SHORT_GI;
	if (rate->flags & LAB_RATE_40)
		status->bw = RATE_INFO_BW_40;
	if (rate->flags & LAB_RATE_80)
		status->bw = RATE_INFO_BW_80;
	ieee80211_rx_ni(receiver->hw, skb);
}

void lab_deliver(const struct lab_command *command)
{
	struct lab_radio *radio = lab_radio_of(command);
	struct ieee80211_channel *channel;
	struct sk_buff *skb;
	unsigned int index;

	if (!radio)
		return;
	/* Only the medium's commands release frames, one after another: the frame remains valid. */
	skb = radio->held[command->cookie & (LAB_SLOTS - 1)];
	channel = radio->hw->conf.chandef.chan;
	if (!skb || !channel)
		return;
	for (index = 0; index < lab_radio_count; index++) {
		struct lab_radio *receiver = lab_radios[index];

		/* Not while the receiver scans another channel. */
		if (receiver != radio && command->value & BIT_ULL(index) &&
		    receiver->hw->conf.chandef.chan &&
		    receiver->hw->conf.chandef.chan->center_freq == channel->center_freq)
			lab_receive(receiver, skb, command, channel->band, channel->center_freq);
	}
}

static void lab_fill_rates(struct ieee80211_tx_info *info, const struct lab_command *command)
{
	int step;

	for (step = 0; step < IEEE80211_TX_MAX_RATES; step++) {
		info->status.rates[step].idx = command->rates[step].index;
		info->status.rates[step].count = command->rates[step].tries;
		info->status.rates[step].flags = lab_kernel_flags(command->rates[step].flags);
	}
}

void lab_done(const struct lab_command *command)
{
	struct lab_radio *radio = lab_radio_of(command);
	struct ieee80211_tx_info *info;
	struct sk_buff *skb;
	u16 slot = command->cookie & (LAB_SLOTS - 1);

	if (!radio)
		return;
	spin_lock_bh(&radio->lock);
	skb = radio->held[slot];
	radio->held[slot] = NULL;
	if (skb)
		radio->in_flight[skb_get_queue_mapping(skb) & 3]--;
	spin_unlock_bh(&radio->lock);
	if (!skb)
		return;
	info = IEEE80211_SKB_CB(skb);
	ieee80211_tx_info_clear_status(info);
	lab_fill_rates(info, command);
	if (command->flags & LAB_DONE_ACKED)
		info->flags |= IEEE80211_TX_STAT_ACK;
	else if (info->flags & IEEE80211_TX_CTL_AMPDU)
		/* mac80211 then moves the receiver's window by a BlockAckReq. */
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
	local_bh_disable();
	ieee80211_tx_status_skb(radio->hw, skb);
	local_bh_enable();
}

/* An aggregate ended: reports it to rate control and charges its airtime. */
void lab_ppdu(const struct lab_command *command)
{
	struct lab_radio *radio = lab_radio_of(command);
	struct ieee80211_tx_info info = {};
	struct ieee80211_tx_status status = { .info = &info };
	struct ieee80211_sta *sta;

	if (!radio)
		return;
	local_bh_disable();
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(radio->hw, command->peer, NULL);
	if (sta) {
		ieee80211_sta_register_airtime(sta, command->tid, command->value, 0);
		if (command->flags & LAB_PPDU_AMPDU) {
			status.sta = sta;
			info.band = radio->band.band;
			info.flags = IEEE80211_TX_CTL_AMPDU | IEEE80211_TX_STAT_AMPDU;
			if (command->acked)
				info.flags |= IEEE80211_TX_STAT_ACK;
			info.status.ampdu_len = command->mpdus;
			info.status.ampdu_ack_len = command->acked;
			lab_fill_rates(&info, command);
			ieee80211_tx_status_ext(radio->hw, &status);
		}
	}
	if (lab_charge_received && radio->index) {
		sta = ieee80211_find_sta_by_ifaddr(lab_radios[0]->hw, radio->address, NULL);
		if (sta)
			ieee80211_sta_register_airtime(sta, command->tid, 0, command->value);
	}
	rcu_read_unlock();
	local_bh_enable();
}

/* Frees the frames that the medium will not complete. */
void lab_drop_held(struct lab_radio *radio)
{
	unsigned int slot;

	for (slot = 0; slot < LAB_SLOTS; slot++) {
		struct sk_buff *skb;

		spin_lock_bh(&radio->lock);
		skb = radio->held[slot];
		radio->held[slot] = NULL;
		if (skb)
			radio->in_flight[skb_get_queue_mapping(skb) & 3]--;
		spin_unlock_bh(&radio->lock);
		if (skb)
			ieee80211_free_txskb(radio->hw, skb);
	}
}
