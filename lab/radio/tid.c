// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of traffic identifiers (NL80211_CMD_SET_TID_CONFIG): limits on the tries of a frame, and aggregation.
 */
#include "radio.h"

#define LAB_TID_ATTRIBUTES \
	(BIT_ULL(NL80211_TID_CONFIG_ATTR_RETRY_SHORT) | BIT_ULL(NL80211_TID_CONFIG_ATTR_RETRY_LONG) | \
	 BIT_ULL(NL80211_TID_CONFIG_ATTR_AMPDU_CTRL))

/* The limit of one byte, above the tries of any chain. */
#define LAB_MOST_TRIES 255

void lab_offer_tid_config(struct ieee80211_hw *hw)
{
	hw->wiphy->tid_config_support.vif = LAB_TID_ATTRIBUTES;
	hw->wiphy->tid_config_support.peer = LAB_TID_ATTRIBUTES;
	hw->wiphy->tid_config_support.max_retry = LAB_MOST_TRIES;
	hw->wiphy->max_data_retry_count = LAB_MOST_TRIES;
}

static void lab_apply_tid(struct lab_tid *tids, const struct cfg80211_tid_cfg *wanted)
{
	unsigned int tid;

	for (tid = 0; tid < LAB_TIDS; tid++) {
		if (!(wanted->tids & BIT(tid)))
			continue;
		if (wanted->mask & BIT_ULL(NL80211_TID_CONFIG_ATTR_RETRY_SHORT))
			WRITE_ONCE(tids[tid].retry_short, wanted->retry_short);
		if (wanted->mask & BIT_ULL(NL80211_TID_CONFIG_ATTR_RETRY_LONG))
			WRITE_ONCE(tids[tid].retry_long, wanted->retry_long);
		if (wanted->mask & BIT_ULL(NL80211_TID_CONFIG_ATTR_AMPDU_CTRL))
			WRITE_ONCE(tids[tid].alone,
				   wanted->ampdu == NL80211_TID_CONFIG_DISABLE ? LAB_ALONE : LAB_AGGREGATED);
	}
}

struct lab_tid_walk {
	struct ieee80211_vif *vif;
	const struct cfg80211_tid_cfg *wanted;
};

/* Ends block-ack sessions where aggregation is disabled. */
static void lab_stop_sessions(struct ieee80211_sta *sta, const struct cfg80211_tid_cfg *wanted)
{
	unsigned int tid;

	for (tid = 0; tid < LAB_TIDS; tid++) {
		if (wanted->tids & BIT(tid) && wanted->mask & BIT_ULL(NL80211_TID_CONFIG_ATTR_AMPDU_CTRL) &&
		    wanted->ampdu == NL80211_TID_CONFIG_DISABLE)
			ieee80211_stop_tx_ba_session(sta, tid);
	}
}

/* Applies an interface's setting to a station; with an override, it clears the station's own. */
static void lab_visit_station(void *data, struct ieee80211_sta *sta)
{
	const struct lab_tid_walk *walk = data;
	struct lab_sta *own = (void *)sta->drv_priv;
	unsigned int tid;

	if (own->vif != walk->vif)
		return;
	for (tid = 0; tid < LAB_TIDS && walk->wanted->config_override; tid++) {
		if (walk->wanted->tids & BIT(tid))
			memset(&own->tids[tid], 0, sizeof(own->tids[tid]));
	}
	lab_stop_sessions(sta, walk->wanted);
}

int lab_set_tid_config(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta,
		       struct cfg80211_tid_config *config)
{
	struct lab_radio *radio = hw->priv;
	unsigned int index;

	for (index = 0; index < config->n_tid_conf; index++) {
		const struct cfg80211_tid_cfg *wanted = &config->tid_conf[index];
		struct lab_tid_walk walk = { .vif = vif, .wanted = wanted };

		if (wanted->mask & ~LAB_TID_ATTRIBUTES)
			return -EOPNOTSUPP;
		if (sta) {
			struct lab_sta *own = (void *)sta->drv_priv;

			lab_apply_tid(own->tids, wanted);
			lab_stop_sessions(sta, wanted);
		} else {
			lab_apply_tid(radio->tids, wanted);
			ieee80211_iterate_stations_atomic(hw, lab_visit_station, &walk);
		}
	}
	return 0;
}

int lab_reset_tid_config(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta, u8 tids)
{
	struct lab_radio *radio = hw->priv;
	struct lab_tid *all = sta ? ((struct lab_sta *)sta->drv_priv)->tids : radio->tids;
	unsigned int tid;

	for (tid = 0; tid < LAB_TIDS; tid++) {
		if (tids & BIT(tid))
			memset(&all[tid], 0, sizeof(all[tid]));
	}
	return 0;
}

int lab_sta_add(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta)
{
	struct lab_sta *own = (void *)sta->drv_priv;

	memset(own, 0, sizeof(*own));
	own->vif = vif;
	return 0;
}

int lab_sta_remove(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta)
{
	return 0;
}

/* The setting of a frame: the station's, else the interface's; 0: none. */
static u8 lab_setting(struct lab_radio *radio, struct ieee80211_sta *sta, u8 tid, size_t offset)
{
	u8 own = sta ? *((u8 *)&((struct lab_sta *)sta->drv_priv)->tids[tid] + offset) : 0;

	return own ? own : *((u8 *)&radio->tids[tid] + offset);
}

/* The limit of a frame's tries; 0: the radio's. Frames above the RTS threshold count as long. */
u8 lab_most_tries(struct lab_radio *radio, struct ieee80211_sta *sta, const struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (void *)skb->data;
	bool is_long = skb->len + FCS_LEN > radio->hw->wiphy->rts_threshold;

	if (!ieee80211_is_data_qos(hdr->frame_control) || is_multicast_ether_addr(hdr->addr1))
		return 0;
	return lab_setting(radio, sta, *ieee80211_get_qos_ctl(hdr) & (LAB_TIDS - 1),
			   is_long ? offsetof(struct lab_tid, retry_long) : offsetof(struct lab_tid, retry_short));
}

bool lab_may_aggregate(struct lab_radio *radio, struct ieee80211_sta *sta, u8 tid)
{
	return tid >= LAB_TIDS || lab_setting(radio, sta, tid, offsetof(struct lab_tid, alone)) != LAB_ALONE;
}
