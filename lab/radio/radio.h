/* SPDX-License-Identifier: GPL-2.0-only */
/* Types and functions shared by the parts of the driver. */
#ifndef AIRBOUND_RADIO_H
#define AIRBOUND_RADIO_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <net/mac80211.h>

#include "channel.h"

#define LAB_MOST_RADIOS 17	/* an access point and sixteen stations */
#define LAB_MOST_NETWORKS 4	/* of a radio */
#define LAB_MOST_DEPTH 1500	/* leaves room for the other categories */
#define LAB_SLOTS 2048		/* most frames of a radio; a power of two */

#define LAB_TIDS 8		/* traffic identifiers of EDCA */

enum lab_aggregation { LAB_UNSET = 0, LAB_AGGREGATED, LAB_ALONE };

/* Settings of a traffic identifier; 0: not set. */
struct lab_tid {
	u8 retry_short, retry_long;	/* most tries */
	u8 alone;			/* enum lab_aggregation */
};

/* The driver's data of a station (ieee80211_sta.drv_priv). */
struct lab_sta {
	struct ieee80211_vif *vif;
	struct lab_tid tids[LAB_TIDS];
};

/* The driver's data of an interface (ieee80211_vif.drv_priv). */
struct lab_vif {
	bool beacons;
};

/* A radio: one phy of mac80211. */
struct lab_radio {
	struct ieee80211_hw *hw;
	unsigned int index;
	u8 address[ETH_ALEN];

	spinlock_t lock;			/* of the fields below */
	struct sk_buff *held[LAB_SLOTS];	/* by cookie: with the medium, without completion */
	u16 next_slot;
	unsigned int in_flight[IEEE80211_NUM_ACS];

	struct lab_tid tids[LAB_TIDS];		/* for stations without own settings */

	spinlock_t pump_lock;			/* one round of scheduling at a time */
	unsigned int beaconing;			/* networks that send beacons */
	ktime_t beacon_interval;
	struct hrtimer beacon_timer;

	u32 busy_us, own_us;			/* the medium's last survey */
	ktime_t survey_start;
	struct ieee80211_supported_band band;
	struct ieee80211_rate bitrates[8];
	struct ieee80211_channel channels[4];
};

extern struct lab_radio *lab_radios[LAB_MOST_RADIOS];
extern unsigned int lab_radio_count;

/* transmit.c */
void lab_pump(struct lab_radio *radio);
void lab_wake_tx_queue(struct ieee80211_hw *hw, struct ieee80211_txq *txq);
void lab_tx(struct ieee80211_hw *hw, struct ieee80211_tx_control *control, struct sk_buff *skb);
void lab_transmit(struct lab_radio *radio, struct sk_buff *skb, struct ieee80211_sta *sta, u8 flags);
void lab_deliver(const struct lab_command *command);
void lab_done(const struct lab_command *command);
void lab_ppdu(const struct lab_command *command);
void lab_drop_held(struct lab_radio *radio);
extern unsigned int lab_depth;
extern bool lab_charge_received;
extern int lab_fixed[LAB_MOST_RADIOS];

/* tid.c */
void lab_offer_tid_config(struct ieee80211_hw *hw);
int lab_set_tid_config(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta,
		       struct cfg80211_tid_config *config);
int lab_reset_tid_config(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta, u8 tids);
int lab_sta_add(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta);
int lab_sta_remove(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta);
u8 lab_most_tries(struct lab_radio *radio, struct ieee80211_sta *sta, const struct sk_buff *skb);
bool lab_may_aggregate(struct lab_radio *radio, struct ieee80211_sta *sta, u8 tid);

/* channel.c */
int lab_channel_register(void);
void lab_channel_unregister(void);
bool lab_channel_is_open(void);
bool lab_channel_push(const struct lab_event *event);
void lab_channel_note(const struct lab_event *event);
void lab_announce_edca(struct lab_radio *radio, u8 category, u8 aifsn, u16 cw_min, u16 cw_max, u16 txop);
void lab_announce_channel(struct lab_radio *radio);
void lab_announce_all_edca(void);

/* entry.c */
int lab_entry_register(void);
void lab_entry_unregister(void);

#endif
