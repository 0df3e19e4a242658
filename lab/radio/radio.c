// SPDX-License-Identifier: GPL-2.0-only
/*
 * Radios without hardware for Airbound's laboratory: their mac80211 operations.
 *
 * Radio 0 is the access point's. Unlike mac80211_hwsim, these radios have limited depth (frames queue in mac80211),
 * aggregate, report each aggregate and its airtime, and leave the channel to a medium in user space.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>

#include "radio.h"

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mac80211 radios over a medium in user space (Airbound)");

static unsigned int lab_wanted = 2;
module_param_named(radios, lab_wanted, uint, 0444);
MODULE_PARM_DESC(radios, "number of radios, 1 to 17");
module_param_named(depth, lab_depth, uint, 0644);
MODULE_PARM_DESC(depth, "frames of one category that the access point's radio holds at most, up to 1500");
module_param_named(charge_received, lab_charge_received, bool, 0444);
MODULE_PARM_DESC(charge_received, "airtime of frames from a station counts against its share");
module_param_array_named(fixed, lab_fixed, int, NULL, 0444);
MODULE_PARM_DESC(fixed, "by radio: rate index + 256 * flags of channel.h for data to and from it; -1: rate control");
static unsigned int lab_streams = 2;
module_param_named(streams, lab_streams, uint, 0444);
MODULE_PARM_DESC(streams, "spatial streams, 1 to 4");
static bool lab_wide;
module_param_named(wide, lab_wide, bool, 0444);
MODULE_PARM_DESC(wide, "more than 20 MHz");
static bool lab_vht;
module_param_named(vht, lab_vht, bool, 0444);
MODULE_PARM_DESC(vht, "VHT, up to 80 MHz");
static bool lab_short;
module_param_named(short_gi, lab_short, bool, 0444);
MODULE_PARM_DESC(short_gi, "short guard interval");
static bool lab_aql = true;
module_param_named(aql, lab_aql, bool, 0444);
MODULE_PARM_DESC(aql, "airtime queue limit");

struct lab_radio *lab_radios[LAB_MOST_RADIOS];
unsigned int lab_radio_count;

/* The last parameters of each radio, for a medium that opens the device later. */
static u16 lab_edca[LAB_MOST_RADIOS][IEEE80211_NUM_ACS][4];

static const struct ieee80211_regdomain lab_domain = {
	.n_reg_rules = 1,
	.alpha2 = "99",
	.reg_rules = { REG_RULE(5150 - 10, 5850 + 10, 80, 0, 20, 0) },
};

static int lab_start(struct ieee80211_hw *hw)
{
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static void lab_stop(struct ieee80211_hw *hw, bool suspend)
#else
static void lab_stop(struct ieee80211_hw *hw)
#endif
{
	struct lab_radio *radio = hw->priv;

	hrtimer_cancel(&radio->beacon_timer);
	lab_drop_held(radio);
}

static int lab_add_interface(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	return 0;
}

/* Networks of a radio share a timer: their beacons follow each other. */
static void lab_set_beaconing(struct lab_radio *radio, struct ieee80211_vif *vif, bool beacons)
{
	struct lab_vif *own = (void *)vif->drv_priv;

	if (own->beacons == beacons)
		return;
	own->beacons = beacons;
	radio->beaconing += beacons ? 1 : -1;
	if (!radio->beaconing)
		hrtimer_cancel(&radio->beacon_timer);
	else if (beacons && radio->beaconing == 1)
		hrtimer_start(&radio->beacon_timer, radio->beacon_interval, HRTIMER_MODE_REL_SOFT);
}

static void lab_remove_interface(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	struct lab_radio *radio = hw->priv;

	lab_set_beaconing(radio, vif, false);
	/* Held frames point to the interface. */
	lab_drop_held(radio);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static int lab_config(struct ieee80211_hw *hw, int radio_index, u32 changed)
#else
static int lab_config(struct ieee80211_hw *hw, u32 changed)
#endif
{
	if (changed & IEEE80211_CONF_CHANGE_CHANNEL && hw->conf.chandef.chan)
		lab_announce_channel(hw->priv);
	return 0;
}

static void lab_configure_filter(struct ieee80211_hw *hw, unsigned int changed, unsigned int *flags, u64 multicast)
{
	*flags &= FIF_ALLMULTI | FIF_BCN_PRBRESP_PROMISC | FIF_PROBE_REQ;
}

static void lab_send_beacon(void *data, u8 *mac, struct ieee80211_vif *vif)
{
	struct lab_radio *radio = data;
	struct lab_vif *own = (void *)vif->drv_priv;
	struct ieee80211_tx_info *info;
	struct sk_buff *skb;

	if (!READ_ONCE(own->beacons))
		return;
	skb = ieee80211_beacon_get(radio->hw, vif, 0);
	if (!skb)
		return;
	info = IEEE80211_SKB_CB(skb);
	/* Beacons use the lowest rate, without rate control. */
	info->control.rates[0].idx = 0;
	info->control.rates[0].flags = 0;
	info->control.rates[0].count = 1;
	info->control.rates[1].idx = -1;
	info->control.vif = NULL;
	skb_set_queue_mapping(skb, IEEE80211_AC_VO);
	lab_transmit(radio, skb, NULL, LAB_FRAME_BEACON | LAB_FRAME_NOACK);
	while ((skb = ieee80211_get_buffered_bc(radio->hw, vif)))
		lab_transmit(radio, skb, NULL, 0);
}

static enum hrtimer_restart lab_on_beacon(struct hrtimer *timer)
{
	struct lab_radio *radio = container_of(timer, struct lab_radio, beacon_timer);

	if (!READ_ONCE(radio->beaconing))
		return HRTIMER_NORESTART;
	ieee80211_iterate_active_interfaces_atomic(radio->hw, IEEE80211_IFACE_ITER_NORMAL, lab_send_beacon, radio);
	hrtimer_forward_now(timer, radio->beacon_interval);
	return HRTIMER_RESTART;
}

static void lab_bss_info_changed(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_bss_conf *conf,
				 u64 changed)
{
	struct lab_radio *radio = hw->priv;

	if (!(changed & BSS_CHANGED_BEACON_ENABLED))
		return;
	if (conf->enable_beacon)
		radio->beacon_interval = ns_to_ktime((u64)conf->beacon_int * 1024 * NSEC_PER_USEC);
	lab_set_beaconing(radio, vif, conf->enable_beacon);
}

static int lab_conf_tx(struct ieee80211_hw *hw, struct ieee80211_vif *vif, unsigned int link, u16 category,
		       const struct ieee80211_tx_queue_params *params)
{
	struct lab_radio *radio = hw->priv;
	u16 *kept = lab_edca[radio->index][category & 3];

	kept[0] = params->aifs;
	kept[1] = params->cw_min;
	kept[2] = params->cw_max;
	kept[3] = params->txop;
	lab_announce_edca(radio, category, kept[0], kept[1], kept[2], kept[3]);
	return 0;
}

void lab_announce_all_edca(void)
{
	unsigned int index, category;

	for (index = 0; index < lab_radio_count; index++) {
		for (category = 0; category < IEEE80211_NUM_ACS; category++) {
			u16 *kept = lab_edca[index][category];

			if (kept[0])
				lab_announce_edca(lab_radios[index], category, kept[0], kept[1], kept[2], kept[3]);
		}
	}
}

static int lab_ampdu_action(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			    struct ieee80211_ampdu_params *params)
{
	switch (params->action) {
	case IEEE80211_AMPDU_TX_START:
		if (!lab_may_aggregate(hw->priv, params->sta, params->tid))
			return -EPERM;
		return IEEE80211_AMPDU_TX_START_IMMEDIATE;
	case IEEE80211_AMPDU_TX_STOP_CONT:
	case IEEE80211_AMPDU_TX_STOP_FLUSH:
	case IEEE80211_AMPDU_TX_STOP_FLUSH_CONT:
		ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr, params->tid);
		return 0;
	case IEEE80211_AMPDU_TX_OPERATIONAL:
	case IEEE80211_AMPDU_RX_START:
	case IEEE80211_AMPDU_RX_STOP:
		return 0;
	}
	return -EOPNOTSUPP;
}

static int lab_get_survey(struct ieee80211_hw *hw, int index, struct survey_info *survey)
{
	struct lab_radio *radio = hw->priv;

	if (index || !hw->conf.chandef.chan)
		return -ENOENT;
	survey->channel = hw->conf.chandef.chan;
	survey->filled = SURVEY_INFO_IN_USE | SURVEY_INFO_TIME | SURVEY_INFO_TIME_BUSY | SURVEY_INFO_TIME_TX |
			 SURVEY_INFO_NOISE_DBM;
	survey->noise = -95;
	survey->time = ktime_to_ms(ktime_sub(ktime_get(), radio->survey_start));
	survey->time_busy = radio->busy_us / 1000;
	survey->time_tx = radio->own_us / 1000;
	return 0;
}

static const struct ieee80211_ops lab_ops = {
	.tx = lab_tx,
	.wake_tx_queue = lab_wake_tx_queue,
	.start = lab_start,
	.stop = lab_stop,
	.add_interface = lab_add_interface,
	.remove_interface = lab_remove_interface,
	.config = lab_config,
	.configure_filter = lab_configure_filter,
	.bss_info_changed = lab_bss_info_changed,
	.conf_tx = lab_conf_tx,
	.ampdu_action = lab_ampdu_action,
	.get_survey = lab_get_survey,
	.sta_add = lab_sta_add,
	.sta_remove = lab_sta_remove,
	.set_tid_config = lab_set_tid_config,
	.reset_tid_config = lab_reset_tid_config,
	.add_chanctx = ieee80211_emulate_add_chanctx,
	.remove_chanctx = ieee80211_emulate_remove_chanctx,
	.change_chanctx = ieee80211_emulate_change_chanctx,
	.switch_vif_chanctx = ieee80211_emulate_switch_vif_chanctx,
};

/* VHT capabilities. Each stream supports MCS 0 to 9: its two bits in the map are 2, those of missing streams 3. */
static void lab_describe_vht(struct ieee80211_sta_vht_cap *vht)
{
	u16 map = 0;
	unsigned int stream;

	for (stream = 0; stream < 8; stream++)
		map |= (stream < lab_streams ? IEEE80211_VHT_MCS_SUPPORT_0_9 : IEEE80211_VHT_MCS_NOT_SUPPORTED) << 2 * stream;
	vht->vht_supported = true;
	vht->cap = IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_MASK | (lab_short ? IEEE80211_VHT_CAP_SHORT_GI_80 : 0);
	vht->vht_mcs.rx_mcs_map = cpu_to_le16(map);
	vht->vht_mcs.tx_mcs_map = cpu_to_le16(map);
}

/* Legacy OFDM, HT and, if set, VHT on channels 36 to 48. */
static void lab_describe_band(struct lab_radio *radio)
{
	static const u16 rates[8] = { 60, 90, 120, 180, 240, 360, 480, 540 };
	static const u16 channels[4] = { 36, 40, 44, 48 };
	struct ieee80211_sta_ht_cap *ht = &radio->band.ht_cap;
	unsigned int index;

	for (index = 0; index < ARRAY_SIZE(rates); index++)
		radio->bitrates[index] = (struct ieee80211_rate){ .bitrate = rates[index], .hw_value = index };
	for (index = 0; index < ARRAY_SIZE(channels); index++)
		radio->channels[index] = (struct ieee80211_channel){
			.band = NL80211_BAND_5GHZ,
			.center_freq = 5000 + 5 * channels[index],
			.hw_value = channels[index],
			.max_power = 20,
		};
	radio->band.band = NL80211_BAND_5GHZ;
	radio->band.channels = radio->channels;
	radio->band.n_channels = ARRAY_SIZE(radio->channels);
	radio->band.bitrates = radio->bitrates;
	radio->band.n_bitrates = ARRAY_SIZE(radio->bitrates);
	ht->ht_supported = true;
	ht->cap = lab_short ? IEEE80211_HT_CAP_SGI_20 : 0;
	/* A VHT station supports all widths up to 80 MHz; otherwise mac80211 takes it for HT. */
	if (lab_wide || lab_vht)
		ht->cap |= IEEE80211_HT_CAP_SUP_WIDTH_20_40 | (lab_short ? IEEE80211_HT_CAP_SGI_40 : 0);
	ht->ampdu_factor = IEEE80211_HT_MAX_AMPDU_64K;
	ht->ampdu_density = IEEE80211_HT_MPDU_DENSITY_NONE;
	for (index = 0; index < lab_streams; index++)
		ht->mcs.rx_mask[index] = 0xff;
	ht->mcs.tx_params = IEEE80211_HT_MCS_TX_DEFINED;
	if (lab_vht)
		lab_describe_vht(&radio->band.vht_cap);
}

static void lab_init_beacon_timer(struct lab_radio *radio)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&radio->beacon_timer, lab_on_beacon, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(&radio->beacon_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	radio->beacon_timer.function = lab_on_beacon;
#endif
}

/* Several networks of an access point. Their addresses differ in the last byte. */
static const struct ieee80211_iface_limit lab_limits[] = {
	{ .max = LAB_MOST_NETWORKS, .types = BIT(NL80211_IFTYPE_AP) },
	{ .max = 1, .types = BIT(NL80211_IFTYPE_STATION) },
};

static const struct ieee80211_iface_combination lab_combination = {
	.limits = lab_limits,
	.n_limits = ARRAY_SIZE(lab_limits),
	.max_interfaces = LAB_MOST_NETWORKS,
	.num_different_channels = 1,
	.beacon_int_infra_match = true,
};

static int lab_add_radio(unsigned int index)
{
	struct ieee80211_hw *hw = ieee80211_alloc_hw(sizeof(struct lab_radio), &lab_ops);
	struct lab_radio *radio;
	int error;

	if (!hw)
		return -ENOMEM;
	radio = hw->priv;
	radio->hw = hw;
	radio->index = index;
	radio->survey_start = ktime_get();
	spin_lock_init(&radio->lock);
	spin_lock_init(&radio->pump_lock);
	lab_init_beacon_timer(radio);
	lab_describe_band(radio);
	/* The fifth byte is the radio's index, which the medium uses. */
	radio->address[0] = 0x02;
	radio->address[4] = index;
	SET_IEEE80211_PERM_ADDR(hw, radio->address);

	hw->sta_data_size = sizeof(struct lab_sta);
	hw->vif_data_size = sizeof(struct lab_vif);
	lab_offer_tid_config(hw);
	hw->queues = IEEE80211_NUM_ACS;
	hw->max_rates = LAB_RATES;
	hw->max_report_rates = LAB_RATES;
	/* As ath9k: four steps of ten tries. */
	hw->max_rate_tries = 10;
	hw->max_rx_aggregation_subframes = 64;
	hw->max_tx_aggregation_subframes = 64;
	ieee80211_hw_set(hw, SIGNAL_DBM);
	ieee80211_hw_set(hw, AMPDU_AGGREGATION);
	ieee80211_hw_set(hw, REPORTS_TX_ACK_STATUS);
	ieee80211_hw_set(hw, SUPPORTS_RC_TABLE);
	/* mac80211 sends the null frames of a station that sleeps or wakes, and looks for it in the beacons' maps. */
	ieee80211_hw_set(hw, SUPPORTS_PS);
	ieee80211_hw_set(hw, PS_NULLFUNC_STACK);
	hw->wiphy->bands[NL80211_BAND_5GHZ] = &radio->band;
	hw->wiphy->interface_modes = BIT(NL80211_IFTYPE_STATION) | BIT(NL80211_IFTYPE_AP);
	hw->wiphy->iface_combinations = &lab_combination;
	hw->wiphy->n_iface_combinations = 1;
	hw->wiphy->regulatory_flags |= REGULATORY_CUSTOM_REG;
	wiphy_apply_custom_regulatory(hw->wiphy, &lab_domain);
	wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AIRTIME_FAIRNESS);
	if (lab_aql)
		wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);

	error = ieee80211_register_hw(hw);
	if (error) {
		ieee80211_free_hw(hw);
		return error;
	}
	lab_radios[lab_radio_count++] = radio;
	return 0;
}

static void lab_remove_radios(void)
{
	while (lab_radio_count) {
		struct ieee80211_hw *hw = lab_radios[--lab_radio_count]->hw;

		ieee80211_unregister_hw(hw);
		ieee80211_free_hw(hw);
	}
}

static int __init lab_init(void)
{
	unsigned int index;
	int error;

	if (lab_wanted < 1 || lab_wanted > LAB_MOST_RADIOS || lab_streams < 1 || lab_streams > 4 || lab_depth < 1 ||
	    lab_depth > LAB_MOST_DEPTH)
		return -EINVAL;
	for (index = 0; index < lab_wanted; index++) {
		error = lab_add_radio(index);
		if (error)
			goto fail;
	}
	error = lab_channel_register();
	if (error)
		goto fail;
	error = lab_entry_register();
	if (!error)
		return 0;
	lab_channel_unregister();
fail:
	lab_remove_radios();
	return error;
}

static void __exit lab_exit(void)
{
	lab_entry_unregister();
	lab_channel_unregister();
	lab_remove_radios();
}

module_init(lab_init);
module_exit(lab_exit);
